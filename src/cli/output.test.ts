import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { withProgress } from './output.ts'

/** Returns the output to a file for work of this duration with a step every 50 ms. */
async function outputOf(t: TestContext, forMs: number): Promise<string> {
  const texts: string[] = []
  const write = (chunk: Buffer, _: string, done: () => void) => {
    texts.push(String(chunk))
    done()
  }
  let now = 0
  const clock = t.mock.method(performance, 'now', () => now)
  await withProgress(new Writable({ write }), async ({ show }) => {
    for (; now < forMs; now += 50) show(() => `${now} ms`)
  })
  clock.mock.restore()
  return texts.join('')
}

test('writes a line every five seconds to other streams than terminals, and nothing about short work', async (t) => {
  assert.equal(await outputOf(t, 11_000), '5000 ms\n10000 ms\n')
  assert.equal(await outputOf(t, 5_000), '')
})
