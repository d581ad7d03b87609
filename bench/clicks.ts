/**
 * Measures the disk space of clicks over years, and the time and event-loop ticks of requests that read or delete them.
 *
 *   npm run bench:clicks                              10 million clicks over 100 000 links and two years: some minutes
 *   npm run bench:clicks -- --clicks 100000 --links 1000 --days 100
 *   npm run bench:clicks -- --postgres                on PostgreSQL: the server at TEST_POSTGRES_URL, or a new server
 *   npm run bench:clicks -- --gate                    exit code 1 if a target in targets.ts is missed
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { toUtcDay } from '../src/accounts/calendar.ts'
import { type Click, ClickStore } from '../src/analytics/click-store.ts'
import { ClickMaintenance } from '../src/analytics/maintenance.ts'
import { openBatchWriter } from '../src/storage/batch-writer.ts'
import { execute } from '../test/postgres.ts'
import { type Call, call, signedIn, withKey } from './call.ts'
import { atMost, median, type Verdict } from './figures.ts'
import { domainOf, domainsFor, zipf } from './link-records.ts'
import { benchServer, seededDatabase } from './postgres.ts'
import { below } from './records.ts'
import { type Seed, seededCopy } from './seed.ts'
import { Server } from './servers.ts'
import { maxBytesPerClick, maxStatisticsRatio, maxTickRatio } from './targets.ts'

const dayMs = 86_400_000
const batchSize = 5_000
const samples = 15
const [countries, browsers, systems] = [
  'DE US FR GB NL IN BR JP ES IT'.split(' '),
  ['Chrome', 'Safari', 'Firefox'],
  ['Windows', 'macOS', 'Android', 'iOS'],
]
const hosts = Array.from({ length: 500 }, (_, n) => `site-${n}.example`)
const rareHost = zipf(hosts.length)

const { clicks, links, days, postgres, gate } = readOptions()
const folder = mkdtempSync(join(tmpdir(), 'waymark-clicks-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const say = (line: string) => void process.stderr.write(`${line}\n`)
const server = postgres ? await benchServer() : null
const database = server && (await seededDatabase(server, 'links', links, say))
const seed: Seed = database ?? (await seededCopy('links', links, folder, say))

await putIntoSpace()
const before = await bytesInUse()
const seconds = await writeAll()
const bytes = (await bytesInUse()) - before
process.stdout.write(`${clicks} clicks over ${links} links and ${days} days\n\n`)
process.stdout.write(`| written | ${(clicks / seconds).toFixed(0)} clicks/s |\n|---|---:|\n`)
process.stdout.write(`| on the disk | ${(bytes / clicks).toFixed(1)} bytes a click |\n\n`)
const verdicts = [...atMost(maxBytesPerClick, bytes / clicks, 'bytes a click'), ...(await measure(seed))]
await database?.drop()
await server?.stop()
if (gate) {
  for (const { target, figure, reached } of verdicts)
    say(`${reached ? 'pass' : 'FAIL'}  ${target}: ${figure.toFixed(1)}`)
  process.exitCode = verdicts.every(({ reached }) => reached) ? 0 : 1
}

function readOptions() {
  const number = (value: string) => ({ type: 'string', default: value }) as const
  const { values } = parseArgs({
    options: {
      clicks: number('10000000'),
      links: number('100000'),
      days: number('730'),
      postgres: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
    },
  })
  const { postgres, gate } = values
  return { clicks: Number(values.clicks), links: Number(values.links), days: Number(values.days), postgres, gate }
}

/** A space with a tenth of the links. */
async function putIntoSpace(): Promise<void> {
  await run(`
    insert into spaces (id, account_id, name, name_folded, color, created_at, updated_at)
      values (1, ${seed.account}, 'Bench', 'bench', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
    update links set space_id = 1 where id % 10 = 0;
    update link_clicks set space_id = 1 where link_id % 10 = 0;
    delete from click_moves`)
}

/** Returns the bytes of used pages. */
async function bytesInUse(): Promise<number> {
  if (seed.location.engine === 'postgres') {
    await run('vacuum full')
    return Number((await run('select pg_database_size(current_database()) as bytes'))[0]?.bytes)
  }
  const number = async (name: string) => Number(Object.values((await run(`pragma ${name}`))[0] ?? {})[0])
  return ((await number('page_count')) - (await number('freelist_count'))) * (await number('page_size'))
}

/** Runs SQL. Returns the rows of a single statement. */
async function run(text: string): Promise<Record<string, unknown>[]> {
  const { location } = seed
  if (location.engine === 'postgres') return execute(location.url, text)
  using file = new DatabaseSync(location.path)
  if (text.startsWith('pragma')) return file.prepare(text).all()
  file.exec(text)
  return []
}

/** Writes clicks day by day like the server. Links are visited by Zipf's law. Returns seconds. */
async function writeAll(): Promise<number> {
  const database = await openBatchWriter(seed.location)
  const store = new ClickStore(database, randomUUID())
  const maintenance = new ClickMaintenance(database)
  const link = zipf(links)
  const first = toUtcDay(Date.now()) - days + 1
  const begun = performance.now()
  let batch = 0
  for (let day = 0; day < days; day++) {
    const count = Math.floor(((day + 1) * clicks) / days) - Math.floor((day * clicks) / days)
    for (let left = count; left > 0; left -= batchSize) {
      const some = Array.from({ length: Math.min(left, batchSize) }, () => clickOf(link(), (first + day) * dayMs))
      batch += 1
      await store.write(batch, some)
    }
    await maintenance.run({ visitorsUntilMs: (first + day) * 86_400_000, daysBefore: 0, nowMs: 0 })
    if (day % 20 === 0) process.stderr.write(`Day ${day} of ${days}\n`)
  }
  await database.close()
  return (performance.now() - begun) / 1000
}

function clickOf(link: number, midnight: number): Click {
  const visitor = below(2 ** 40)
  return {
    link,
    atMs: midnight + below(dayMs),
    count: 1,
    class: 'person',
    facts: {
      countries: any(countries),
      referrers: below(3) > 0 ? null : (hosts[rareHost() - 1] as string),
      browsers: any(browsers),
      operating_systems: any(systems),
      devices: below(2) > 0 ? 'desktop' : 'mobile',
      languages: 'en',
      rules: null,
    },
    visitorUnder: () => visitor,
  }
}

function any(values: readonly string[]): string {
  return values[below(values.length)] as string
}

interface MeasuredRequest {
  readonly title: string
  readonly call: Call
  readonly status: number
  /** The maximal median time, as a multiple of the first request's. */
  readonly maxRatio?: number
}

/** Measures requests that read or delete clicks. Prints their times and event-loop ticks, and compares them with the first request. */
async function measure(of: Seed): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  let shown: number | undefined
  const waymark = await Server.waymark(of)
  const port = waymark.ports.api[0]
  process.stdout.write('| request | median ms | longest ms | median tick ms |\n|---|---:|---:|---:|\n')
  for (const { title, call: request, status, maxRatio } of await requests(of.secret, `http://127.0.0.1:${port}`)) {
    const [times, ticks]: [number[], number[]] = [[], []]
    for (let n = 0; n < samples; n++) {
      await waymark.usage()
      const begun = performance.now()
      const answer = await call(port, request)
      times.push(performance.now() - begun)
      ticks.push((await waymark.usage()).longestTick)
      if (answer.status !== status) throw new Error(`${title}: ${answer.status} ${answer.body}`)
    }
    const [time, tick] = [median(times), median(ticks)]
    const figures = [time, Math.max(...times), tick].map((ms) => ms.toFixed(1))
    process.stdout.write(`| ${[title, ...figures].join(' | ')} |\n`)
    shown ??= time
    verdicts.push(...atMost(maxRatio, time / shown, `${title}: time of showing a link`))
    verdicts.push(...atMost(maxTickRatio, tick / shown, `${title}: event-loop tick of showing a link`))
  }
  await waymark.stop()
  return verdicts
}

/** A link, statistics and pages of one year, and the deletion of the clicks on a link. */
async function requests(secret: string, origin: string): Promise<MeasuredRequest[]> {
  const to = new Date().toISOString().slice(0, 10)
  const from = new Date(Date.now() - 365 * dayMs).toISOString().slice(0, 10)
  const domain = domainOf(1, domainsFor(links))
  const subjects = { link: '&link_id=1', domain: `&domain_id=${domain}`, space: '&space_id=1', account: '' }
  const api = withKey(secret)
  const page = { host: new URL(origin).host, head: `Cookie: ${await signedIn(origin, secret)}\r\n` }
  const statistics = Object.entries(subjects).flatMap(([subject, query]) =>
    ['clicks', 'countries', 'referrers', 'links'].map((name) => ({
      title: `${subject}, ${name}`,
      call: { ...api, method: 'GET', path: `/api/v1/stats?name=${name}&from=${from}&to=${to}${query}`, form: '' },
      status: 200,
      maxRatio: maxStatisticsRatio,
    })),
  )
  const pages = ['/app', '/app/links/1', `/app/domains/${domain}`].map((path) => ({
    title: path,
    call: { ...page, method: 'GET', path: `${path}?period=12m`, form: '' },
    status: 200,
  }))
  const show = { ...api, method: 'GET', path: '/api/v1/links/1', form: '' }
  const deletion = { ...api, method: 'DELETE', path: '/api/v1/links/1/clicks', form: '' }
  return [
    { title: 'a link', call: show, status: 200 },
    ...statistics,
    ...pages,
    { title: 'deletion of clicks', call: deletion, status: 204 },
  ]
}
