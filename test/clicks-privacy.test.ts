import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Clicks } from '../src/analytics/clicks.ts'
import { openClicks } from './clicks.ts'
import { runHere } from './command-line.ts'
import { newLink, twoNodes } from './links.ts'
import { execute } from './postgres.ts'
import { eventually, newDatabase } from './processes.ts'
import { databaseOn, startVisited, type VisitedServer } from './visited-server.ts'

const address = '198.51.100.77'
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.7) Gecko/20100101 Firefox/140.7 SecretBuild/9.8.7'
const crawler = 'SecretCrawler/1.2 (+https://crawler.example/; bot)'
const secrets = [address, 'SecretBuild', 'SecretCrawler', 'secret-path', 'secret-query', 'secret-cookie', 'de-LI']

async function visited(server: VisitedServer): Promise<void> {
  const domain_id = (await server.stored('/domains', { name: 'go.acme.com' })).id
  await server.stored('/links', { domain_id, alias: 'sale', url: 'https://acme.com/sale' })
  await server.stored('/links', { domain_id, alias: 'one', url: 'https://acme.com/one', clicks_limit: 1 })
  await server.stored('/links', {
    domain_id,
    alias: 'safe',
    url: 'https://acme.com/safe',
    redirect_password: 'swordfish',
  })
  const headers = {
    'x-forwarded-for': address,
    'user-agent': agent,
    'accept-language': 'de-LI,de;q=0.9',
    referer: 'https://news.example/secret-path?secret-query=1',
    cookie: 'secret-cookie=1',
  }
  for (const [path, status] of [
    ['sale', 302],
    ['one', 302],
    ['one', 410],
    ['safe', 401],
    ['none', 404],
  ] as const) {
    assert.equal((await server.visit(`http://go.acme.com/${path}?secret-query=2`, { headers })).status, status)
  }
  await server.visit('http://go.acme.com/sale', { headers: { ...headers, 'user-agent': crawler } })
  const form = { redirect_password: 'swordfish' }
  assert.equal((await server.visit('http://go.acme.com/safe', { method: 'POST', headers, form })).status, 303)
  const clicks = async () => (await server.ask('GET', '/stats?name=clicks')).body.meta.clicks
  await eventually(async () => (await clicks()) === 3)
  const referrers = (await server.ask('GET', '/stats?name=referrers')).body.data
  assert.deepEqual(referrers, [{ value: 'news.example', clicks: 3 }])
}

function assertNone(what: string, bytes: Buffer): void {
  for (const secret of secrets) assert.ok(!bytes.includes(secret), `${secret} is in ${what}`)
}

test('stores no visitor data in the files and the log of an SQLite instance', async (t) => {
  const { path, variables } = newDatabase(t)
  const spool = { CLICKS_SINK: `jsonl:${join(dirname(path), 'raw.jsonl')}` }
  const server = await startVisited(t, { ...variables, ...spool, LOG_LEVEL: 'debug', TRUST_PROXY: 'on' })
  await visited(server)
  const files = () =>
    readdirSync(dirname(path), { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const readAll = () => files().map((file) => [file.name, readFileSync(join(file.parentPath, file.name))] as const)
  for (const [name, bytes] of readAll()) assertNone(name, bytes)
  const { code, stdout, stderr } = await server.end('SIGTERM')
  assert.equal(code, 0)
  for (const [name, bytes] of readAll()) assertNone(name, bytes)
  assertNone('the log', Buffer.from(stdout + stderr))
  assert.ok(stdout.includes('/{alias}'), 'the log has no visits')
})

test('stores no visitor data in PostgreSQL', async (t) => {
  const variables = await databaseOn(t, 'postgres')
  const server = await startVisited(t, { ...variables, TRUST_PROXY: 'on' })
  await visited(server)
  const url = variables.DATABASE_URL as string
  const tables = await execute(url, `select tablename as name from pg_tables where schemaname = current_schema()`)
  assert.ok(tables.length > 10)
  for (const { name } of tables) {
    const rows = await execute(url, `select each::text as text from "${name}" as each`)
    assertNone(String(name), Buffer.from(JSON.stringify(rows)))
  }
  assert.equal((await server.end('SIGTERM')).code, 0)
})

const day = 20_700
const hourMs = 3_600_000
const dayMs = 24 * hourMs

test('deletes the salt and the visitors of a day within 48 hours, even from backups', async (t) => {
  const { storage, account, domain } = await twoNodes((work) => t.after(work), 'sqlite')
  const link = await newLink(storage, { account, domain }, 'sale')
  const { location } = storage
  assert.ok(location.engine === 'sqlite')
  const { path } = location
  const clicks = new Clicks(storage, {
    geoipDb: null,
    clicksSink: null,
    clicksRetention: 0,
    onProblem: assert.ifError,
    onCountryFile: assert.ifError,
  })
  t.after(() => clicks.close())
  const { store } = await openClicks(location, (work) => t.after(work))
  // The first and the last hour of a day.
  const first = day * dayMs
  const last = first + dayMs - 1
  const click = { link, count: 1, class: 'person', facts: null } as const
  await store.write(
    1,
    [first, last].map((atMs, visitor) => ({ ...click, atMs, visitorUnder: () => visitor })),
  )
  const [backups, database] = [dirname(path), new DatabaseSync(path, { readOnly: true })]
  const salt = database.prepare('select salt from click_salts where day_start_ms = ?').get(first)?.salt as Uint8Array
  database.close()
  assert.equal(salt.length, 16)

  for (const [now, isThere] of [
    [last, true],
    [last + 5 * hourMs, true],
    [first + 48 * hourMs, false],
    [last + 48 * hourMs, false],
  ] as const) {
    await clicks.maintain(now)
    const file = join(backups, `backup-${now}.db`)
    const { code, stderr } = await runHere(['backup', file], { variables: { DATABASE_URL: `sqlite:${path}` } })
    assert.equal(code, 0, stderr)
    assert.equal(readFileSync(file).includes(salt), isThere, new Date(now).toISOString())
    const copy = new DatabaseSync(file, { readOnly: true })
    const { visitors } = copy.prepare('select count(*) as visitors from click_visitors').get() as { visitors: number }
    const totals = copy.prepare('select clicks from link_clicks').get() as { clicks: number }
    copy.close()
    assert.deepEqual([visitors, totals.clicks], [isThere ? 2 : 0, 2])
  }
})
