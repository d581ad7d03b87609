import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { Progress } from './output.ts'

/** Returns the output to a file for work of this duration with a step every 50 ms. */
function outputOf(t: TestContext, forMs: number): string {
  const texts: string[] = []
  const out = new Writable({
    write(chunk, _, done) {
      texts.push(String(chunk))
      done()
    },
  })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const progress = new Progress(Object.assign(out, { isTTY: false }))
  for (; now < forMs; now += 50) progress.show(() => `${now} ms`)
  progress.clear()
  return texts.join('')
}

test('writes a line every five seconds to other streams than terminals, and nothing about short work', (t) => {
  assert.equal(outputOf(t, 11_000), '5000 ms\n10000 ms\n')
  assert.equal(outputOf(t, 5_000), '')
})
