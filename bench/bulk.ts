/**
 * `npm run bench:bulk`: compares bulk requests with single requests, lists by tag with lists by space, and
 * redirects with and without a running export. There are a million links with three tags each. See README.md in this folder.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { median } from './figures.ts'
import { drive } from './load.ts'
import { type Seed, seededCopy } from './seed.ts'
import { Server } from './servers.ts'
import { visitCases } from './visit-cases.ts'

const records = Number(process.argv[2] ?? 1_000_000)
const perRequest = 1_000
const rounds = 5
const lists = 200
/** Seconds of redirects, with and without an export. */
const watched = 5
/** Each space and tag has one in this many links. */
const share = 10

const folder = mkdtempSync(join(tmpdir(), 'waymark-bulk-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const seed = await seededCopy('links', records, folder, (line) => process.stderr.write(`${line}\n`))
process.stderr.write('Adding spaces and tags\n')
await organize(seed)
const server = await Server.waymark(seed)
const api = `http://127.0.0.1:${server.ports.api[0]}/api/v1`
const headers = { authorization: `Bearer ${seed.secret}`, 'content-type': 'application/json' }
try {
  await measureBulk()
  await measureLists()
  await measureExport()
} finally {
  await server.stop()
}

/** Gives each link one of ten spaces and three of thirty tags. */
async function organize({ account, location }: Seed): Promise<void> {
  if (location.engine !== 'sqlite') throw new Error('The bench of bulk requests uses SQLite.')
  using file = new DatabaseSync(location.path)
  const times = `'2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'`
  const named = (table: string, count: number) => `
    insert into ${table} (id, account_id, name, name_folded, color, created_at, updated_at)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
      select n, ${account}, '${table} ' || n, '${table} ' || n, 1, ${times} from numbers`
  const tags = [0, 1, 2].map((of) => `select ${of * share} + 1 + id % ${share}, account_id, id from links`)
  file.exec(`
    begin;
    ${named('spaces', share)};
    ${named('tags', 3 * share)};
    update links set space_id = 1 + id % ${share};
    delete from click_moves;
    ${tags.map((links) => `insert into link_tags (tag_id, account_id, link_id) ${links} order by id`).join(';\n')};
    commit;
    pragma wal_checkpoint(truncate)`)
}

/** Measures 1,000 links stored, edited and deleted by one request, and stored by 1,000 requests. */
async function measureBulk(): Promise<void> {
  const all: Record<string, { ms: number; tick: number }[]> = {}
  const measure = async (name: string, work: () => Promise<unknown>) => {
    await server.usage()
    const start = performance.now()
    await work()
    const ms = performance.now() - start
    all[name] = [...(all[name] ?? []), { ms, tick: (await server.usage()).longestTick }]
  }
  for (let round = 0; round < rounds; round++) {
    const linkOf = (name: string, n: number) => ({
      domain_id: 1,
      alias: `${name}${round}-${n}`,
      url: 'https://acme.com/',
    })
    const many = <T>(of: (n: number) => T) => Array.from({ length: perRequest }, (_, n) => of(n))
    let ids: number[] = []
    await measure('store in one request', async () => {
      const body = await send('POST', '/links/bulk', { links: many((n) => linkOf('plain', n)) })
      ids = body.data.map(({ data }) => data.id)
    })
    await measure('store in one request, with three tags each', () =>
      send('POST', '/links/bulk', {
        links: many((n) => ({ ...linkOf('tagged', n), tags: ['tags 1', 'tags 11', 'tags 21'] })),
      }),
    )
    await measure('edit in one request, with a tag more', () =>
      send('PATCH', '/links/bulk', { ids, set: { archived: true }, add_tags: ['tags 2'] }),
    )
    await measure('delete in one request', () => send('POST', '/links/bulk/delete', { ids }))
    await measure('store in 1,000 requests, one after another', async () => {
      for (const link of many((n) => linkOf('single', n))) await send('POST', '/links', link)
    })
  }
  print(['1,000 links', 'ms', 'longest tick, ms'], true)
  for (const [name, figures] of Object.entries(all)) {
    const tick = Math.max(...figures.map((each) => each.tick))
    print([name, median(figures.map(({ ms }) => ms)).toFixed(0), tick.toFixed(1)])
  }
}

/** Measures the first page of a space's links and of a tag's, which are equally many. */
async function measureLists(): Promise<void> {
  const filters = ['space_id=3', 'tag_id=3', 'tag_id=3,13,23'] as const
  const times = new Map<string, number[]>(filters.map((filter) => [filter, []]))
  for (let round = -20; round < lists; round++) {
    for (const filter of filters) {
      const start = performance.now()
      await send('GET', `/links?${filter}`)
      if (round >= 0) times.get(filter)?.push(performance.now() - start)
    }
  }
  print([`List of 10 of ${records / share} links`, 'ms'], true)
  for (const [filter, all] of times) print([filter, median(all).toFixed(2)])
}

/** Measures redirects with and without a running export, and the export's memory. */
async function measureExport(): Promise<void> {
  const redirects = async () => {
    const visits = visitCases.find(({ name }) => name === 'visit-memory')
    if (visits === undefined) throw new Error('There is no case visit-memory.')
    const next = visits.calls({ ...seed, spare: [] })
    const load = { ports: server.ports.redirect, seconds: watched, status: visits.status, next }
    const { answered, seconds } = await drive(load)
    return answered / seconds
  }
  await redirects()
  const alone = await redirects()
  const idle = await server.usage()
  let most = idle.rss
  let done = false
  const watch = (async () => {
    for (; !done; await new Promise((resolve) => setTimeout(resolve, 100)))
      most = Math.max(most, (await server.usage()).rss)
  })()
  const start = performance.now()
  const bytes = await exported()
  const exportSeconds = (performance.now() - start) / 1_000
  done = true
  await watch
  const [beside] = await Promise.all([redirects(), exported()])
  print([`Export of ${records} links`, ''], true)
  print(['MB', (bytes / 1e6).toFixed(0)])
  print(['seconds', exportSeconds.toFixed(1)])
  print(['MB of memory above idle', ((most - idle.rss) / 1e6).toFixed(0)])
  print(['redirects a second without an export', alone.toFixed(0)])
  print(['redirects a second during an export', `${beside.toFixed(0)} (${(beside / alone).toFixed(2)})`])
}

/** Reads an export. Returns its bytes. */
async function exported(): Promise<number> {
  const response = await fetch(`${api}/links/export`, { headers })
  if (response.status !== 200 || response.body === null) throw new Error(`The export has status ${response.status}.`)
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  return bytes
}

/** The response of a bulk request. */
interface Rows {
  readonly data: readonly { readonly data: { readonly id: number } }[]
  readonly meta: { readonly failed?: number }
}

async function send(method: string, path: string, json?: object): Promise<Rows> {
  const body = json === undefined ? null : JSON.stringify(json)
  const response = await fetch(api + path, { method, headers, body })
  const answer = (await response.json()) as Rows
  if (!response.ok || (answer.meta?.failed ?? 0) > 0) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return answer
}

function print(cells: readonly string[], isHead = false): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
  if (isHead) process.stdout.write(`|---${'|--:'.repeat(cells.length - 1)}|\n`)
}
