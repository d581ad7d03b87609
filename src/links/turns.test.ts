import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from './turns.ts'

/** Work that ends when the test says so. */
function pieces() {
  const began: string[] = []
  const ends: (() => void)[] = []
  const work = (name: string) => () => {
    began.push(name)
    return new Promise<string>((resolve) => ends.push(() => resolve(name)))
  }
  return { began, work, endNext: () => ends.shift()?.() }
}

test('work beyond those at once waits for its turn, in order', async () => {
  const { began, work, endNext } = pieces()
  const turns = new Turns({ atOnce: 2, waiting: 2 }, () => new Error('full'))
  const all = ['a', 'b', 'c', 'd'].map((name) => turns.take(work(name)))
  await assert.rejects(turns.take(work('e')), /full/)
  assert.deepEqual(began, ['a', 'b'])
  for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) {
    endNext()
    assert.equal(await all[at], name)
  }
  assert.deepEqual(began, ['a', 'b', 'c', 'd'])
})

test('work that fails gives its turn on', async () => {
  const turns = new Turns({ atOnce: 1, waiting: 1 }, () => new Error('full'))
  const failing = turns.take(() => Promise.reject(new Error('failed')))
  const next = turns.take(async () => 'next')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'next')
  assert.equal(await turns.take(async () => 'later'), 'later')
})
