import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Submissions } from './submissions.ts'

const sent = { session: 1, path: '/app/links', once: 'a' }

test('does the work of a repeated form once, for a minute', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const submissions = new Submissions<number>()
  let made = 0
  const make = async () => ++made
  const take = (of: Parameters<typeof submissions.take>[0]) => submissions.take(of, make, (result) => result)
  assert.deepEqual(await Promise.all([take(sent), take(sent)]), [1, 1])
  now = 59_000
  assert.equal(await take(sent), 1)
  for (const other of [{ session: 2 }, { path: '/app/spaces' }, { once: 'b' }]) await take({ ...sent, ...other })
  assert.equal(made, 4)
  now = 60_000
  assert.equal(await take(sent), 5)
})

test('does the work once, even if it takes a minute; drops the oldest of 2,000 results', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const submissions = new Submissions<number>()
  const { promise, resolve } = Promise.withResolvers<number>()
  const take = (once: string, work: () => Promise<number>) =>
    submissions.take({ ...sent, once }, work, (result) => result)
  const first = take('slow', () => promise)
  now = 61_000
  for (let n = 0; n < 2_001; n++) await take(String(n), async () => n)
  const second = take('slow', async () => assert.fail('done twice'))
  assert.deepEqual([await take('2000', async () => -1), await take('0', async () => -1)], [2_000, -1])
  resolve(7)
  assert.deepEqual(await Promise.all([first, second]), [7, 7])
  assert.equal(await take('slow', async () => 8), 7)
  now += 61_000
  assert.equal(await take('slow', async () => 8), 8)
})

test('repeats rejected or failed work, and forms without the field', async () => {
  const submissions = new Submissions<number>()
  const takeWith = (once: unknown, work: () => Promise<number>) =>
    submissions.take({ ...sent, once }, work, (result) => (result < 400 ? result : null))
  const take = (work: () => Promise<number>) => takeWith('a', work)
  assert.equal(await take(async () => 422), 422)
  await assert.rejects(() => take(() => Promise.reject(new Error('not now'))))
  assert.equal(await take(async () => 200), 200)
  assert.equal(await take(async () => 201), 200)
  for (const none of [undefined, 'x'.repeat(65)]) {
    assert.equal(await takeWith(none, async () => 1), 1)
    assert.equal(await takeWith(none, async () => 2), 2)
  }
})
