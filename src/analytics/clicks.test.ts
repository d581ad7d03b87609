import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { clickOf } from '../../test/click-rows.ts'
import { startClickHouse } from '../../test/clickhouse.ts'
import { keptTotals, openClicks } from '../../test/clicks.ts'
import { newLink, newSpace, setSpace, twoNodes } from '../../test/links.ts'
import { eventually, newFolder } from '../../test/processes.ts'
import { databaseUnavailable, Failure } from '../errors.ts'
import { ClickWorker } from './click-worker.ts'
import { type ClickOptions, Clicks } from './clicks.ts'
import type { Bounds } from './maintenance.ts'

const dayMs = 86_400_000
const sent = { ipAddress: '', host: '', userAgent: '', referrer: '', languages: '', country: '', rule: null }

/** Counts clicks, and collects the reported problems. */
function newClicks(storage: ConstructorParameters<typeof Clicks>[0], options: Partial<ClickOptions> = {}) {
  const problems: unknown[][] = []
  const clicks = new Clicks(storage, {
    ...{ geoipDb: null, clicksSink: null, clicksRetention: 0 },
    onCountryFile: assert.ifError,
    onProblem: (error, ...more) => problems.push([String(error), ...more]),
    ...options,
  })
  return { clicks, problems }
}

test('logs that the thread did not start, and writes the clicks once it starts', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const { location } = storage
  if (location.engine !== 'sqlite') return
  // The thread can't open a file in a missing folder.
  const path = join(newFolder(t), 'missing', 'test.db')
  const problems = new Map<string, unknown>()
  const elsewhere = Object.assign(Object.create(storage), { location: { engine: 'sqlite', path } })
  const { clicks } = newClicks(elsewhere, { onProblem: (error, meaning) => problems.set(meaning, error) })
  t.after(() => clicks.close())
  clicks.begin({ expectsClicks: true })
  const meaning = 'the thread that writes clicks did not start; the next click starts it again'
  await eventually(() => problems.has(meaning))
  assert.ok(problems.get(meaning) instanceof Failure)

  await mkdir(dirname(path))
  using database = new DatabaseSync(location.path)
  database.exec(`vacuum into '${path}'`)
  clicks.count({ link, atMs: Date.now(), class: 'person', isPrivate: true, ...sent, count: 1 })
  using copy = new DatabaseSync(path, { timeout: 10_000 })
  const written = copy.prepare('select clicks from link_clicks where clicks > 0')
  await eventually(() => written.get() !== undefined)
})

test('logs an error for a dropped batch of raw clicks, and a warning for a waiting batch', async (t) => {
  const { storage } = await twoNodes((work) => t.after(work))
  const server = await startClickHouse(t)
  server.manner = 'no headers'
  const spool = newFolder(t)
  mkdirSync(join(spool, '0'))
  const [old, recent] = [randomUUID(), randomUUID()]
  const store = (id: string, sealedAt: number) =>
    writeFileSync(join(spool, '0', `${String(sealedAt).padStart(15, '0')}-1-${id}.jsonl`), JSON.stringify(clickOf(1)))
  store(old, Date.now() - 2 * dayMs)
  store(recent, Date.now())
  writeFileSync(join(spool, '0', 'unconfirmed'), `${Date.now() - dayMs} ${Date.now()}`)
  const { clicks, problems } = newClicks(storage, {
    clicksSink: { target: { kind: 'clickhouse', ...server.table }, spool, spoolBytes: 1e6 },
  })
  t.after(() => clicks.close())
  clicks.begin({ expectsClicks: false })
  await eventually(() => problems.length === 2)
  const why = `ClickHouse at ${server.table.url} accepts clicks, but its responses have no X-ClickHouse-* headers: a proxy may remove them.`
  const details = 'rows: 1, attempts since the start: 1'
  assert.deepEqual(problems, [
    [
      `Error: Batch ${old} was dropped after a day without a confirmation (${details}). ${why}`,
      'a batch of raw clicks was dropped, because its sink never confirmed it',
      'error',
    ],
    [`Error: ${why}`, 'raw clicks stay in the spool until this error is fixed', 'warn'],
  ])
  assert.equal(server.rows.length, 2)
})

test('counts clicks and logs the folder, the variable and the reason if the spool cannot be written', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const file = join(newFolder(t), 'file')
  writeFileSync(file, '')
  const spool = join(file, 'spool')
  const { clicks, problems } = newClicks(storage, {
    clicksSink: { target: { kind: 'jsonl', path: `${file}.jsonl` }, spool, spoolBytes: 1e6 },
  })
  t.after(() => clicks.close())
  clicks.begin({ expectsClicks: true })
  clicks.count({ link, atMs: Date.now(), class: 'person', isPrivate: true, ...sent, count: 1 })
  await clicks.flush()
  assert.equal((await keptTotals(storage))[0]?.clicks, 1)
  const droppedRows = clicks.sinkMeters.find(({ name }) => name === 'dropped_rows_total')?.value as () => number
  await eventually(() => droppedRows() === 1)
  const fix = 'Make the folder writable, or name another one in CLICKS_SPOOL.'
  const why = `ENOTDIR: not a directory, mkdir '${spool}'`
  const meaning = 'raw clicks are dropped until their spool can be written; statistics still count them'
  assert.deepEqual(problems, [[`Error: Clicks cannot be spooled in ${spool}: ${why}. ${fix}`, meaning, 'error']])
})

const hourMs = 3_600_000

async function library(t: TestContext) {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const { store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  await store.write(1, [{ link, atMs: 100 * dayMs, count: 1, class: 'person', facts: null, visitorUnder: () => 7 }])
  const problems: unknown[] = []
  const onProblem = (error: unknown) => void problems.push(error)
  const clicks = (clicksRetention: number) => newClicks(storage, { clicksRetention, onProblem }).clicks
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
  assert.deepEqual(asked, [{ visitorsUntilMs: 100 * dayMs, daysBefore: 100, nowMs: now }])
  await clicks(0).maintain(102 * dayMs)
  assert.equal(asked.length, 1)
  await clicks(1).maintain(102 * dayMs)
  assert.deepEqual(asked.at(-1), { visitorsUntilMs: 100 * dayMs + 18 * hourMs, daysBefore: 101, nowMs: 102 * dayMs })
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
