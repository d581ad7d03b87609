import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { clickOf } from '../../test/click-rows.ts'
import { startClickHouse } from '../../test/clickhouse.ts'
import { newLink, twoNodes } from '../../test/links.ts'
import { eventually, newFolder } from '../../test/processes.ts'
import { Failure } from '../errors.ts'
import { Clicks } from './clicks.ts'

const dayMs = 86_400_000

test('logs that the thread did not start, and writes the clicks once it starts', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  const { location } = storage
  if (location.engine !== 'sqlite') return
  // The thread can't open a file in a missing folder.
  const path = join(newFolder(t), 'missing', 'test.db')
  const problems = new Map<string, unknown>()
  const clicks = new Clicks(Object.assign(Object.create(storage), { location: { engine: 'sqlite', path } }), {
    geoipDb: null,
    clicksSink: null,
    clicksRetention: 0,
    onCountryFile: () => undefined,
    onProblem: (error, meaning) => problems.set(meaning, error),
  })
  t.after(() => clicks.close())
  clicks.begin({ expectsClicks: true })
  const meaning = 'the thread that writes clicks did not start; the next click starts it again'
  await eventually(() => problems.has(meaning))
  assert.ok(problems.get(meaning) instanceof Failure)

  await mkdir(dirname(path))
  using database = new DatabaseSync(location.path)
  database.exec(`vacuum into '${path}'`)
  const sent = { address: '', host: '', userAgent: '', referrer: '', languages: '', country: '' }
  clicks.count({ link, atMs: Date.now(), class: 'person', isPrivate: true, ...sent, count: 1 })
  using copy = new DatabaseSync(path, { timeout: 10_000 })
  const written = copy.prepare('select clicks from link_clicks where clicks > 0')
  await eventually(() => written.get() !== undefined)
})

test('logs an error for a batch of raw clicks that is dropped, and a warning for one that waits', async (t) => {
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
  writeFileSync(join(spool, '0', 'unconfirmed'), String(Date.now() - dayMs))
  const problems: unknown[][] = []
  const clicks = new Clicks(storage, {
    geoipDb: null,
    clicksSink: { target: { kind: 'clickhouse', ...server.table }, spool, spoolBytes: 1e6 },
    clicksRetention: 0,
    onCountryFile: () => undefined,
    onProblem: (error, ...more) => problems.push([String(error), ...more]),
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
    [`Error: ${why}`, 'raw clicks wait on the disk, since their sink does not take them'],
  ])
  assert.equal(server.rows.length, 2)
})
