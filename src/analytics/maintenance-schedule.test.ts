import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openClicks } from '../../test/clicks.ts'
import { newLink, newSpace, setSpace, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { databaseUnavailable } from '../errors.ts'
import { ClickWorker } from './click-worker.ts'
import { Clicks } from './clicks.ts'
import type { Bounds } from './maintenance.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

async function library(t: TestContext) {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const { store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  await store.write(1, [{ link, atMs: 100 * dayMs, count: 1, class: 'person', facts: null, visitorUnder: () => 7 }])
  const problems: unknown[] = []
  const clicks = (clicksRetention: number) =>
    new Clicks(storage, {
      geoipDb: null,
      clicksSink: null,
      clicksRetention,
      onProblem: (error) => problems.push(error),
      onCountryFile: assert.ifError,
    })
  return { storage, ...own, link, maintenance, clicks, problems }
}

test('deletes the salt six hours after its day, and aggregates after the retention', async (t) => {
  const { maintenance, clicks, problems } = await library(t)
  const asked: Bounds[] = []
  t.mock.method(ClickWorker.prototype, 'maintain', async (bounds: Bounds) => {
    asked.push(bounds)
    await maintenance.run({ ...bounds, daysBefore: 0 })
  })
  const now = 101 * dayMs + 6 * hourMs
  await clicks(1).maintain(now - 1)
  assert.deepEqual(asked, [])
  await clicks(1).maintain(now)
  await clicks(1).maintain(now)
  assert.deepEqual(asked, [{ visitorsBefore: 101, daysBefore: 100 }])
  await clicks(0).maintain(102 * dayMs)
  assert.equal(asked.length, 1)
  await clicks(1).maintain(102 * dayMs)
  assert.deepEqual(asked.at(-1), { visitorsBefore: 101, daysBefore: 101 })
  assert.deepEqual(problems, [])
})

test('starts the maintenance soon after a change, and reports an outage once', async (t) => {
  const { storage, account, link, clicks, problems } = await library(t)
  const outage = databaseUnavailable(new Error('down'))
  const maintain = t.mock.method(ClickWorker.prototype, 'maintain', () => Promise.reject(outage))
  const own = clicks(0)
  own.linkChanged()
  own.begin({ expectsClicks: false })
  await storage.execute(setSpace({ id: link, space: await newSpace(storage, account, 'Red') }))
  for (const runs of [1, 2]) {
    own.linkChanged()
    await eventually(() => maintain.mock.callCount() >= runs)
  }
  await own.close()
  assert.deepEqual(problems, [outage])
})
