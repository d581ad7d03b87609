import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { Overload } from './overload.ts'

/** Takes turns of the event loop, each of this length, and tells after which of them requests were turned away. */
async function refusedAfter(overload: Overload, turnMs: number, turns: number): Promise<boolean[]> {
  const refused: boolean[] = []
  for (let turn = 0; turn < turns; turn++) {
    const until = performance.now() + turnMs
    while (performance.now() < until);
    await nextTurn()
    refused.push(overload.refusal() !== undefined)
  }
  return refused
}

test('turns requests away for as long as every turn of the event loop takes long, then lets them in again', async () => {
  const overload = new Overload()
  overload.begin()
  for (const turnMs of [320, 400]) {
    const refused = await refusedAfter(overload, turnMs, 5)
    assert.deepEqual(refused.slice(2), [true, true, true], `turns of ${turnMs} ms`)
    assert.equal(overload.refusal()?.code, 'overloaded')
  }
  const start = performance.now()
  while (overload.refusal() !== undefined) {
    assert.ok(performance.now() - start < 5_000, 'requests are still turned away')
    await wait(10)
  }
  overload.close()
})

test('lets requests in after a start that held the event loop', async () => {
  const overload = new Overload()
  assert.deepEqual(await refusedAfter(overload, 1_000, 2), [false, false])
  overload.begin()
  assert.deepEqual(await refusedAfter(overload, 1_000, 1), [false])
  // The timer itself has run by now, for the first time.
  await wait(1)
  assert.equal(overload.refusal(), undefined)
  overload.close()
})

test('lets requests in after one turn that took long: the machine may have been paused', async () => {
  // A limit above what else this machine may be doing.
  const overload = new Overload(1_000)
  overload.begin()
  await wait(100)
  assert.deepEqual(await refusedAfter(overload, 2_000, 1), [false])
  // The timer has noticed by now.
  await nextTurn()
  await nextTurn()
  assert.ok(overload.delays.sum > 1.5, String(overload.delays.sum))
  assert.equal(overload.refusal(), undefined)
  overload.close()
})

test('lets requests in when turns are short, however many there are', async () => {
  // A limit far above what else this machine may be doing.
  const overload = new Overload(2_000)
  overload.begin()
  assert.ok(!(await refusedAfter(overload, 100, 8)).includes(true))
  overload.close()
})
