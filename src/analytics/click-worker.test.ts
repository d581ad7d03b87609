import assert from 'node:assert/strict'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { ResourceLimits } from 'node:worker_threads'
import { keptDays, keptTotals, sumsOf } from '../../test/clicks.ts'
import { countryDatabase, fileWith } from '../../test/country-database.ts'
import { fillLinks, newLink, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { person } from '../../test/visitors.ts'
import { systemActor } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import { parts, type StorageLocation } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import type { Visit } from './capture/visit.ts'
import { ClickWorker } from './click-worker.ts'
import { type DayFacts, dimensions, emptyDay, encodeDay, ensureHour, maxValues } from './day.ts'
import type { SinkConfig } from './sink/open.ts'

const smallHeap = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 }

function newWorker(
  t: TestContext,
  location: StorageLocation,
  limits?: ResourceLimits,
  clicksSink: SinkConfig | null = null,
  onProblem: (error: unknown) => void = assert.ifError,
  geoipDb: string | null = null,
): ClickWorker {
  const options = { location, geoipDb, clicksSink, onProblem, onCountryFile: assert.ifError }
  const worker = new ClickWorker(options, limits)
  t.after(() => worker.close())
  return worker
}

async function here(t: TestContext, limits?: ResourceLimits) {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const link = await newLink(storage, own, 'sale')
  return { storage, ...own, link, worker: newWorker(t, storage.location, limits) }
}

function visits(link: number, ...more: Partial<Visit>[]): Visit[] {
  const sent = {
    host: 'go.acme.com',
    userAgent: person,
    referrer: 'https://news.example/a?b',
    languages: 'de-DE',
    country: '',
    rule: null,
  }
  const usual: Visit = { link, atMs: 0, class: 'person', isPrivate: false, ipAddress: '8.8.8.8', ...sent, count: 1 }
  return more.map((each) => ({ ...usual, ...each }))
}

const visit = (link: number) => visits(link, {})[0] as Visit

test('classifies visits, and stores each batch once', async (t) => {
  const { storage, link, worker } = await here(t)
  const rule = 'Test 2'
  const last = [
    { isPrivate: true, rule },
    { class: 'bot', country: 'FR' },
  ] as const
  const batch = visits(link, { rule }, { rule }, { ipAddress: '8.8.4.4', rule }, ...last)
  await worker.write(1, batch)
  await worker.write(1, batch)
  assert.equal((await keptTotals(storage))[0]?.clicks, 4)
  const facts = (await keptDays(storage))[0]?.facts
  assert.ok(facts)
  assert.deepEqual({ ...sumsOf(facts), addUp: 0 }, { people: 4, unique: 2, bots: 1, previews: 0, addUp: 0 })
  const { countries, referrers, browsers, operating_systems, devices, languages, rules } = facts.breakdowns
  const all = [countries, referrers, browsers, operating_systems, devices, languages, rules].map((each) => [...each])
  const of = (value: string) => [
    [value, 3],
    [null, 1],
  ]
  assert.deepEqual(all, [of('US'), of('news.example'), of('Firefox'), of('Linux'), of('desktop'), of('de'), of(rule)])
})

/** Returns a day that has no room for another value of any dimension. */
function fullDay(): DayFacts {
  const facts = emptyDay()
  Object.assign(ensureHour(facts, 0), { people: maxValues, unique: 1 })
  for (const dimension of dimensions) {
    for (let n = 0; n < maxValues; n++) facts.breakdowns[dimension].set(`value-${n}.example.com`, 1)
  }
  return facts
}

test('uses the same memory for a batch that changes many days', async (t) => {
  const { storage, account, domain, link, worker } = await here(t, smallHeap)
  const count = 400
  await fillLinks(storage, { account, domain }, link + 1, count)
  const full = encodeDay(fullDay())
  const ids = Array.from({ length: count }, (_, n) => link + 1 + n)
  const rows = ids.map((id) => ({ scope: clickLevels.link, day: 0, id, domain_id: null, space_id: null, ...full }))
  for (const some of parts(rows)) await storage.execute(query.insertInto('click_days').values(some))
  await worker.write(1, ids.map(visit))
  assert.equal(
    (await keptTotals(storage)).reduce((sum, { clicks }) => sum + clicks, 0),
    count,
  )
})

test('takes clicks up to the limit, and deletes them', async (t) => {
  const { storage, account, domain, worker } = await here(t)
  const sale = await newLink(storage, { account, domain }, 'limited', 1)
  const asked = await Promise.all([worker.take(visit(sale)), worker.take(visit(sale))])
  assert.deepEqual(asked.sort(), [false, true])
  assert.equal(await worker.deleteClicks(systemActor(account), sale), true)
  assert.equal(await worker.deleteClicks(systemActor(account + 1), sale), false)
  await worker.maintain({ visitorsUntilMs: 0, daysBefore: 0, nowMs: 0 })
  assert.equal(await worker.take(visit(sale)), true)
})

test('rejects with an unexpected error, and keeps running', async (t) => {
  const { storage, link, worker } = await here(t)
  await assert.rejects(
    worker.write(1, visits(link, { languages: null as never })),
    (error: Error) => !('code' in error) || error.code !== 'database_unavailable',
  )
  await worker.write(2, visits(link, {}))
  assert.equal((await keptTotals(storage))[0]?.clicks, 1)
})

test('rejects with the errors of all failing steps of the maintenance', async (t) => {
  const { storage, worker } = await here(t)
  const { location } = storage
  if (location.engine !== 'sqlite') return
  using database = new DatabaseSync(location.path)
  database.exec('drop table click_visitors; drop table click_moves')
  await assert.rejects(
    worker.maintain({ visitorsUntilMs: 0, daysBefore: 0, nowMs: 0 }),
    ({ errors }: AggregateError) => {
      assert.match(errors.map(String).join(), /click_visitors.*click_moves/)
      return true
    },
  )
})

test('rejects with database_unavailable after close', async (t) => {
  const { link, worker } = await here(t)
  await worker.start()
  const last = worker.take(visit(link))
  await worker.close()
  assert.equal(await last, false)
  await assert.rejects(worker.write(2, visits(link, {})), { code: 'database_unavailable' })
})

test('ends the thread 10 seconds after close if the database hangs', async (t) => {
  const { storage, link, worker } = await here(t)
  const { location } = storage
  if (location.engine !== 'sqlite') return
  await worker.start()
  const holder = new DatabaseSync(location.path)
  t.after(() => holder.close())
  holder.exec('begin immediate')
  const taken = assert.rejects(worker.take(visit(link)), ({ facts }: Failure) => {
    assert.match(String(facts.cause), /The worker thread ended/)
    return true
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const closed = worker.close()
  t.mock.timers.tick(10_000)
  await Promise.all([closed, taken])
})

test("rejects with database_unavailable if the thread can't start, and restarts it after a second", async (t) => {
  const { storage, link } = await here(t)
  const { location } = storage
  if (location.engine !== 'sqlite') return
  const moved = join(dirname(location.path), 'elsewhere')
  const worker = newWorker(t, { engine: 'sqlite', path: join(moved, 'test.db') })
  // The thread can't open a file in a missing folder.
  await assert.rejects(worker.start(), { code: 'database_unavailable' })
  await assert.rejects(worker.write(1, visits(link, {})), { code: 'database_unavailable' })
  await mkdir(moved)
  using database = new DatabaseSync(location.path)
  database.exec(`vacuum into '${join(moved, 'test.db')}'`)
  t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER)
  await worker.write(1, visits(link, {}))
})

test('rejects with the cause if the thread dies of a batch', async (t) => {
  const { link, worker } = await here(t, smallHeap)
  const many = Array.from({ length: 50_000 }, () => visit(link))
  await assert.rejects(worker.write(1, many), (error: Error) => {
    assert.ok(!(error instanceof Failure))
    assert.match(String((error.cause as Failure).cause), /memory/)
    return true
  })
})

test('returns the countries of the thread, before and after it dies, and those of the next thread', async (t) => {
  const { storage, link } = await here(t)
  const path = fileWith(t, countryDatabase('SE'))
  const worker = newWorker(t, storage.location, smallHeap, null, assert.ifError, path)
  const asked = await Promise.all([worker.countries(), worker.countries()])
  const [countries] = asked
  assert.equal(countries.of('8.8.8.8', ''), 'SE')
  const many = Array.from({ length: 50_000 }, () => visit(link))
  await assert.rejects(worker.write(1, many))
  assert.equal((await worker.countries()).of('8.8.8.8', ''), 'SE')
  await writeFile(path, countryDatabase('NO'))
  t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER)
  await worker.start()
  assert.equal(countries.of('8.8.8.8', ''), 'NO')
})

test('rejects countries with database_unavailable if the thread never ran', async (t) => {
  const { worker } = await here(t)
  await worker.close()
  await assert.rejects(worker.countries(), { code: 'database_unavailable' })
})

test('sends raw clicks without the exact time to the sink, and reports its meters and outages', async (t) => {
  const { storage, account, domain, link } = await here(t)
  const { location } = storage
  const folder = location.engine === 'sqlite' ? dirname(location.path) : null
  if (folder === null) return
  const path = join(folder, 'clicks.jsonl')
  // A folder at the path blocks the file.
  await mkdir(path)
  const clicksSink: SinkConfig = {
    target: { kind: 'jsonl', path },
    spool: join(folder, 'spool'),
    spoolBytes: 1_000_000,
  }
  const problems: unknown[] = []
  const worker = newWorker(t, location, undefined, clicksSink, (error) => problems.push(error))
  await worker.start()
  await worker.write(1, visits(link, { atMs: 3_599_999 }, { class: 'preview', count: 2 }, { link: link + 99 }))
  await eventually(() => problems.length === 1)
  await rmdir(path)
  const sent = worker.sinkMeters.find(({ name }) => name === 'sent_rows_total')?.value as () => number
  await eventually(() => sent() === 3)
  const rows = (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    rows.map((row) => [row.at, row.class, row.account_id, row.domain_id, row.link_id, row.country, row.is_unique]),
    [
      ['1970-01-01T00:00:00.000Z', 'person', account, domain, link, 'US', true],
      ['1970-01-01T00:00:00.000Z', 'preview', account, domain, link, null, false],
      ['1970-01-01T00:00:00.000Z', 'preview', account, domain, link, null, false],
    ],
  )
})
