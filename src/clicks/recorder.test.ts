import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { clicksOf, deleteLink, newLink, setLink, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { databaseUnavailable } from '../errors.ts'
import type { Clicks, Storage } from '../storage/port.ts'
import { ClickRecorder } from './recorder.ts'
import { takeClick } from './store.ts'

const away = databaseUnavailable(new Error('away'))
const ignore = () => undefined

const meterOf = ({ meters }: ClickRecorder, name: string) => {
  const value = meters.find((meter) => meter.name === name)?.value
  return typeof value === 'function' ? value() : Number.NaN
}

/** Keeps totals as a database does; each write goes as `outcomes` says, and then well. */
function database(outcomes: ('kept' | 'refused' | 'unknown')[] = []) {
  const totals = new Map<number, number>()
  const batches: (readonly Clicks[])[] = []
  const addClicks = async (batch: readonly Clicks[]) => {
    const outcome = outcomes.shift() ?? 'kept'
    if (outcome === 'refused') throw away
    batches.push(batch)
    if (outcome === 'unknown') return false
    for (const { id, clicks } of batch) totals.set(id, (totals.get(id) ?? 0) + clicks)
    return true
  }
  return { totals, batches, addClicks }
}

const noon = Date.parse('2026-11-22T12:00:00.000Z')

test('clicks are in the database within a second, and a stop loses none', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const [one, two] = [await newLink(storage, own, 'one'), await newLink(storage, own, 'two')]
  const recorder = new ClickRecorder(storage, assert.ifError)
  recorder.begin()
  const clicks = async (id: number) => (await storage.all(clicksOf, { id }))[0]
  const before = Date.now()
  for (let n = 0; n < 3; n++) recorder.count(one)
  await eventually(async () => (await clicks(one))?.clicks === 3)
  assert.ok(((await clicks(one))?.last_clicked_ms ?? 0) >= before)
  recorder.count(one)
  recorder.count(two)
  await recorder.close()
  assert.deepEqual([(await clicks(one))?.clicks, (await clicks(two))?.clicks], [4, 1])
  assert.equal(meterOf(recorder, 'lost_clicks'), 0)
})

test('clicks of links that were deleted meanwhile are left out', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const [one, two] = [await newLink(storage, own, 'one'), await newLink(storage, own, 'two')]
  const recorder = new ClickRecorder(storage, assert.ifError)
  recorder.count(one)
  recorder.count(two)
  await storage.writeOne(deleteLink, { id: one })
  await recorder.close()
  assert.equal((await storage.all(clicksOf, { id: two }))[0]?.clicks, 1)
})

test('totals are exact, whatever is counted and whichever writes fail', async () => {
  const outcome = fc.constantFrom('kept' as const, 'refused' as const)
  const visits = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 })
  const runs = fc.array(fc.tuple(visits, fc.array(outcome, { maxLength: 2 })), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(runs, async (rounds) => {
      const outcomes: ('kept' | 'refused' | 'unknown')[] = []
      const real = database(outcomes)
      const recorder = new ClickRecorder(real, ignore)
      const expected = new Map<number, number>()
      for (const [ids, next] of rounds) {
        outcomes.push(...next)
        for (const id of ids) {
          recorder.count(id)
          expected.set(id, (expected.get(id) ?? 0) + 1)
        }
      }
      outcomes.splice(3)
      await recorder.close()
      assert.deepEqual(
        [...real.totals].sort(([a], [b]) => a - b),
        [...expected].sort(([a], [b]) => a - b),
      )
    }),
    { numRuns: 30 },
  )
})

test('batches are sorted by id and small, and a write that fails keeps the rest for later', async () => {
  const problems: unknown[] = []
  const real = database(['kept', 'refused', 'refused'])
  const recorder = new ClickRecorder(real, (error) => problems.push(error))
  for (let n = 0; n < 1_200; n++) recorder.count((n * 7_919) % 1_200)
  recorder.begin()
  await eventually(() => problems.length === 1)
  assert.equal(meterOf(recorder, 'unwritten_links'), 700)
  recorder.count(0)
  recorder.count(1_199)
  await recorder.close()
  assert.equal(problems.length, 1)
  assert.deepEqual(
    real.batches.map(({ length }) => length),
    [500, 500, 201],
  )
  assert.ok(real.batches.every((batch) => batch.every(({ id }, at) => at === 0 || id > (batch[at - 1]?.id ?? 0))))
  assert.equal(real.totals.size, 1_200)
  assert.equal(real.totals.get(0), 2)
  assert.equal(real.totals.get(1_199), 2)
})

test('more links than one round takes are written in several', async () => {
  const real = database()
  const recorder = new ClickRecorder(real, assert.ifError)
  for (let id = 1; id <= 90_000; id++) recorder.count(id)
  await recorder.close()
  assert.equal(real.totals.size, 90_000)
})

test('clicks that come during a write that fails are added to those that it was to write', async () => {
  const real = database()
  let isFirst = true
  const addClicks = async (batch: readonly Clicks[]) => {
    if (!isFirst) return real.addClicks(batch)
    isFirst = false
    recorder.count(1)
    recorder.count(2)
    throw away
  }
  const recorder: ClickRecorder = new ClickRecorder({ addClicks }, ignore)
  recorder.count(1)
  await recorder.close()
  assert.deepEqual(
    [...real.totals],
    [
      [1, 2],
      [2, 1],
    ],
  )
})

test('a click of unknown outcome is not written again, and counts as lost', async () => {
  const real = database(['unknown'])
  const recorder = new ClickRecorder(real, assert.ifError)
  for (let n = 0; n < 3; n++) recorder.count(1)
  await recorder.close()
  assert.equal(real.totals.get(1), undefined)
  assert.equal(meterOf(recorder, 'lost_clicks'), 3)
})

test('while the database is away, memory is bounded: clicks of further links are lost, and counted as such', async () => {
  const real = database(['refused'])
  const recorder = new ClickRecorder(real, ignore, { maxLinks: 2 })
  for (const id of [1, 2, 3, 3, 1]) recorder.count(id)
  assert.equal(meterOf(recorder, 'lost_clicks'), 2)
  await recorder.close()
  assert.deepEqual(
    [...real.totals],
    [
      [1, 2],
      [2, 1],
    ],
  )
})

test('a stop without a database ends, and says how many clicks it leaves', async () => {
  const real = database(Array.from({ length: 10 }, () => 'refused' as const))
  const recorder = new ClickRecorder(real, ignore)
  recorder.count(1)
  await recorder.close()
  assert.equal(real.totals.size, 0)
  assert.equal(meterOf(recorder, 'unwritten_links'), 1)
})

test('a limit is exact: of many who ask on two nodes at the same time, as many pass as clicks are left', async (t) => {
  const { storage, other, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale', 5)
  const nodes: Storage[] = [storage, other]
  const passed = await Promise.all(Array.from({ length: 40 }, (_, n) => takeClick(nodes[n % 2] as Storage, id, noon)))
  assert.equal(passed.filter((isTaken) => isTaken).length, 5)
  const [row] = await storage.all(clicksOf, { id })
  assert.deepEqual({ ...row }, { clicks: 5, last_clicked_ms: noon, status_due_at: '' })
})

test('a click that is taken never moves the last one back, and needs a limit', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale', 5)
  assert.equal(await takeClick(storage, id, noon), true)
  assert.equal(await takeClick(storage, id, noon - 3_600_000), true)
  const [row] = await storage.all(clicksOf, { id })
  assert.deepEqual({ ...row }, { clicks: 2, last_clicked_ms: noon, status_due_at: null })
  assert.equal(await takeClick(storage, await newLink(storage, own, 'free'), noon), false)
  assert.equal(await takeClick(storage, id + 10, noon), false)
})

test('a click that is refused makes a state due that does not know it', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale', 5)
  assert.deepEqual([await takeClick(storage, id, noon), await takeClick(storage, id, noon)], [true, true])
  await setLink(storage, id, { clicks_limit: 2 })
  assert.equal(await takeClick(storage, id, noon), false)
  const [row] = await storage.all(clicksOf, { id })
  assert.deepEqual({ ...row }, { clicks: 2, last_clicked_ms: noon, status_due_at: '' })
})
