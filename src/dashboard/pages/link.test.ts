import assert from 'node:assert/strict'
import { test } from 'node:test'
import { titleAndHeading } from './link.ts'

/** Returns the title and the text of the heading. */
function wordsOf(short_url: string): readonly [title: string, heading: string] {
  const { title, heading } = titleAndHeading({ short_url, status: 'active' })
  return [
    title,
    heading.text
      .replace(/<span class="state.*/, '')
      .replace(/<.*?>/g, '')
      .trim(),
  ]
}

test('names a link by its path and host, truncated separately', () => {
  assert.deepEqual(wordsOf('https://xn--bcher-kva.example/%C3%A9t%C3%A9'), [
    '/été on bücher.example',
    'bücher.example/été',
  ])
  assert.deepEqual(wordsOf('http://localhost:3080/a/b'), ['/a/b on localhost:3080', 'localhost:3080/a/b'])
  const host = `${'a'.repeat(40)}.example.com`
  const cutHost = `${'a'.repeat(24)}…${'a'.repeat(11)}.example.com`
  const sale = `/${'summer-sale-'.repeat(4)}`
  const cutSale = `/${sale.slice(1, 24)}…${sale.slice(-23)}`
  assert.deepEqual(wordsOf(`https://${host}${sale}`), [`${cutSale} on ${cutHost}`, cutHost + cutSale])
  const slashes = `/${'summer/'.repeat(6)}x`
  assert.deepEqual(wordsOf(`https://${host}${slashes}`), [`${slashes} on ${cutHost}`, cutHost + slashes])
})
