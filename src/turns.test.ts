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
  const turns = new Turns({ atOnce: 2, perPlace: 2, inAll: 3 }, () => new Error('full'))
  const all = ['a', 'b', 'c', 'd'].map((name) => turns.take('here', work(name)))
  await assert.rejects(turns.take('here', work('e')), /full/)
  assert.deepEqual(began, ['a', 'b'])
  for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) {
    endNext()
    assert.equal(await all[at], name)
  }
  assert.deepEqual(began, ['a', 'b', 'c', 'd'])
})

test('work that fails gives its turn on', async () => {
  const turns = new Turns({ atOnce: 1, perPlace: 1, inAll: 1 }, () => new Error('full'))
  const failing = turns.take('here', () => Promise.reject(new Error('failed')))
  const next = turns.take('here', async () => 'next')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'next')
  assert.equal(await turns.take('here', async () => 'later'), 'later')
})

test('places take turns, and a crowd from one leaves room for the others', async () => {
  const { began, work, endNext } = pieces()
  const turns = new Turns({ atOnce: 1, perPlace: 2, inAll: 3 }, () => new Error('full'))
  const all = ['a1', 'a2', 'a3'].map((name) => turns.take('a', work(name)))
  await assert.rejects(turns.take('a', work('a4')), /full/)
  all.push(turns.take('b', work('b1')))
  await assert.rejects(turns.take('c', work('c1')), /full/)
  for (const at of [0, 1, 3, 2]) {
    endNext()
    await all[at]
  }
  assert.deepEqual(began, ['a1', 'a2', 'b1', 'a3'])
})

test('limits the tasks of each place while other places run theirs', async () => {
  const { began, work, endNext } = pieces()
  const turns = new Turns({ atOnce: 3, atOncePerPlace: 2, perPlace: 2, inAll: 4 }, () => new Error('full'))
  const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => turns.take(name.slice(0, 1), work(name)))
  assert.deepEqual(began, ['a1', 'a2', 'b1'])
  endNext()
  await all[0]
  endNext()
  await all[1]
  assert.deepEqual(began, ['a1', 'a2', 'b1', 'a3', 'b2'])
  for (const _ of [1, 2, 3]) endNext()
  await Promise.all(all)
})
