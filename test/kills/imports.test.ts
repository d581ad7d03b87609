/** Imports of whole dumps: after SIGKILL, the next request continues, and visitors of the old service leave no trace. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../client.ts'
import { execute } from '../postgres.ts'
import { eventually, newDatabase } from '../processes.ts'
import { databaseOn, startVisited, type VisitedServer } from '../visited-server.ts'
import { waymark } from '../waymark.ts'
import { engines, KilledServer } from './killed-server.ts'

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Returns a number in base 62, as YOURLS counts its keywords. */
function keywordOf(number: number): string {
  const last = digits[number % 62] as string
  return number < 62 ? last : keywordOf(Math.floor(number / 62)) + last
}

const address = '198.51.100.77'
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.7) Gecko/20100101 Firefox/140.7 SecretBuild/9.8.7'
const crawler = 'SecretCrawler/1.2 (+https://crawler.example/; bot)'
const secrets = [address, 'SecretBuild', 'SecretCrawler', 'secret-path', 'opensesame']

/** Returns a dump of YOURLS with links, and two clicks of people and one of a bot on each, on different days. */
function dumpOf(links: number, hasClicks = true): string {
  const all = Array.from({ length: links }, (_, at) => at)
  const rows = all.map(
    (at) => `('${keywordOf(at)}','https://tea.example/${at}','','2019-05-06 18:30:00','${address}',5)`,
  )
  const clicks = (hasClicks ? all : []).flatMap((at) =>
    [agent, agent, crawler].map((userAgent, n) => {
      const referrer = n === 0 ? 'https://news.example/secret-path' : 'direct'
      return `('2019-05-${10 + ((at + n) % 3)} 09:12:00','${keywordOf(at)}','${referrer}','${userAgent}','${address}','AT')`
    }),
  )
  const urls = `INSERT INTO yourls_url (keyword,url,title,timestamp,ip,clicks) VALUES ${rows.join(',\n')};`
  if (!hasClicks) return urls
  return `${urls}
INSERT INTO yourls_log (click_time,shorturl,referrer,user_agent,ip_address,country_code) VALUES ${clicks.join(',\n')};`
}

/** The pause between two looks at a job, which may wait some seconds for the lease of a killed server. */
const pollMs = 200

/** By default, days of 2019 would be deleted soon. */
const retention = { CLICKS_RETENTION: '0' }

async function planDump(server: VisitedServer, links: number, hasClicks = true): Promise<Json> {
  await server.stored('/domains', { name: 'go.acme.com' })
  const headers = { 'content-type': 'application/sql' }
  const answer = await server.ask('POST', '/imports?domain_map=*=go.acme.com&time_zone=UTC', {
    body: dumpOf(links, hasClicks),
    headers,
  })
  // A busy machine answers 202 while it still plans.
  assert.ok(answer.status === 201 || answer.status === 202, answer.text)
  let planned = answer.body.data
  await eventually(async () => {
    planned = (await server.ask('GET', `/imports/${planned.id}`)).body.data
    return planned.state === 'planned'
  })
  return planned
}

for (const engine of engines) {
  test(`continues after SIGKILL, and stores nothing twice: ${engine}`, async (t) => {
    const killed = await KilledServer.start(t, engine, retention)
    const ask = async (path: string) => (await killed.server.ask('GET', path)).body.data
    const file = { body: dumpOf(8_000, false), headers: { 'content-type': 'application/sql' } }
    const planning = killed.server.ask('POST', '/imports?time_zone=UTC', file)
    await killed.killDuring([planning], async () => (await ask('/imports'))[0]?.state === 'planning')
    await eventually(async () => (await ask('/imports'))[0].state === 'failed', undefined, pollMs)
    assert.equal((await ask('/imports'))[0].error.code, 'import_interrupted')
    const links = 600
    const { id, outcomes, click_days } = await planDump(killed.server, links)
    assert.deepEqual([outcomes.store, outcomes.refuse, click_days], [links, 0, 3 * links])
    const isNow = async (state: string) => (await ask(`/imports/${id}`)).state === state
    const start = async (step: 'apply' | 'undo') => {
      const { status, text } = await killed.server.ask('POST', `/imports/${id}/${step}`)
      assert.ok(status === 200 || status === 202, text)
    }
    const apply = async () => {
      await start('apply')
      await eventually(() => isNow('applied'), undefined, pollMs)
    }
    for (const least of [1, 300]) await killed.killDuring([apply()], () => hasLinks(killed, least), 20)
    await apply()
    const sums = 'select count(*) as n, sum(clicks) as clicks, sum(bots) as bots, min(clicks) as least from link_clicks'
    assert.deepEqual(await killed.numbers(sums), [links, 5 * links, links, 5])
    for (const scope of [0, 1, 3]) {
      const days = `select sum(clicks) as clicks, sum(bots) as bots from click_days where scope = ${scope}`
      assert.deepEqual(await killed.numbers(days), [2 * links, links], `scope ${scope}`)
    }
    assert.equal(await killed.count("events where record = 'link' and action = 'created'"), links)
    await start('undo')
    await killed.killDuring([], () => true)
    await killed.server.ask('POST', `/imports/${id}/undo`)
    await eventually(() => isNow('undone'), undefined, pollMs)
    assert.equal(await killed.count('links'), 0)
  })
}

const hasLinks = async (killed: KilledServer, least: number) => (await killed.count('links')) >= least

function assertNone(what: string, bytes: Buffer): void {
  for (const secret of secrets) assert.ok(!bytes.includes(secret), `${secret} is in ${what}`)
}

/** Plans and applies a dump, and a file with a password. */
async function importAll(server: VisitedServer): Promise<void> {
  const { id } = await planDump(server, 50)
  await server.ask('POST', `/imports/${id}/apply`)
  const table =
    'short_url,url,redirect_password,user agent\nhttps://go.acme.com/safe,https://tea.example/,opensesame,SecretBuild'
  const headers = { 'content-type': 'text/csv' }
  const planned = await server.ask('POST', '/imports', { body: table, headers })
  assert.equal(planned.body.data.outcomes.store, 1, planned.text)
  await server.ask('POST', `/imports/${planned.body.data.id}/apply`)
  const { data } = (await server.ask('GET', '/stats?name=referrers&from=2019-05-01&to=2019-05-31')).body
  assert.deepEqual(
    data.find(({ value }: Json) => value !== null),
    { value: 'news.example', clicks: 50 },
  )
}

test('stores no IP address, user agent or password of a file in the database, the log or a backup of SQLite', async (t) => {
  const { path, variables } = newDatabase(t)
  const server = await startVisited(t, { ...variables, ...retention, LOG_LEVEL: 'debug' })
  await importAll(server)
  const backup = join(dirname(path), 'backup.db')
  assert.equal((await waymark(t, ['backup', backup], variables)).code, 0)
  const { stdout, stderr } = await server.end('SIGTERM')
  for (const name of readdirSync(dirname(path))) assertNone(name, readFileSync(join(dirname(path), name)))
  assertNone('the log', Buffer.from(stdout + stderr))
})

test('stores no IP address, user agent or password of a file in PostgreSQL', async (t) => {
  const variables = await databaseOn(t, 'postgres')
  const server = await startVisited(t, { ...variables, ...retention })
  await importAll(server)
  const url = variables.DATABASE_URL as string
  const tables = await execute(url, `select tablename as name from pg_tables where schemaname = current_schema()`)
  for (const { name } of tables) {
    const rows = await execute(url, `select each::text as text from "${name}" as each`)
    assertNone(String(name), Buffer.from(JSON.stringify(rows)))
  }
  assert.equal((await server.end('SIGTERM')).code, 0)
})

test('refuses none of 10,000 keywords in base 62, and redirects each in its own spelling', async (t) => {
  const { variables } = newDatabase(t)
  const server = await startVisited(t, variables)
  const { id, rows, outcomes } = await planDump(server, 10_000, false)
  assert.deepEqual([rows, outcomes.store], [10_000, 10_000])
  await server.ask('POST', `/imports/${id}/apply`)
  await eventually(async () => (await server.ask('GET', `/imports/${id}`)).body.data.state === 'applied')
  for (const at of [10, 36, 700, 735, 4_000, 9_999]) {
    const { headers } = await server.visit(`http://go.acme.com/${keywordOf(at)}`)
    assert.equal(headers.location, `https://tea.example/${at}`)
  }
})
