/** Whether markup that a page is made of holds together, as XML must. */
import assert from 'node:assert/strict'
import type { Html } from '../src/http/html.ts'

const tag = /<(\/?)([a-z][a-z0-9]*)((?: [a-zA-Z][a-zA-Z0-9-]*="[^"<>]*")*)(\/?)>/g

/** Every element is closed where it must be, attributes stand in quotes, no `<` or `>` is left over, and there is no style. */
export function assertWellFormed({ text }: Html): void {
  const open: string[] = []
  for (const [whole, isEnd, name = '', , isEmpty] of text.matchAll(tag)) {
    if (isEnd) assert.equal(open.pop(), name, `${whole} closes another element`)
    else if (!isEmpty) open.push(name)
  }
  assert.deepEqual(open, [])
  assert.doesNotMatch(text.replace(tag, ''), /[<>]/)
  assert.doesNotMatch(text, / style=| on[a-z]+=/)
}

/** The text of each element that the expression finds, its own elements left out. */
export function textsOf({ text }: Html, name: string): string[] {
  const elements = new RegExp(`<${name}(?: [^>]*)?>(.*?)</${name}>`, 'gs')
  return [...text.matchAll(elements)].map(([, inner = '']) => inner.replace(/<[^>]*>/g, ''))
}
