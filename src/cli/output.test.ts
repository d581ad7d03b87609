import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { Progress } from './output.ts'

/** Returns the output for work of this duration with a step every 50 ms. */
function outputOf(
  t: { mock: { method: typeof import('node:test').mock.method } },
  isTTY: boolean,
  forMs: number,
): string {
  const texts: string[] = []
  const out = new Writable({
    write(chunk, _, done) {
      texts.push(String(chunk))
      done()
    },
  })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const progress = new Progress(Object.assign(out, { isTTY }))
  for (; now < forMs; now += 50) progress.show(() => `${now} ms`)
  progress.clear()
  return texts.join('')
}

test('overwrites one line on a terminal and removes it at the end', (t) => {
  assert.equal(outputOf(t, true, 260), '\r\u001b[K0 ms\r\u001b[K100 ms\r\u001b[K200 ms\r\u001b[K')
})

test('writes a line every five seconds to other streams', (t) => {
  assert.equal(outputOf(t, false, 11_000), '5000 ms\n10000 ms\n')
})

test('writes nothing about short work without a terminal', (t) => {
  assert.equal(outputOf(t, false, 5_000), '')
})
