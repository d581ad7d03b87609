/** Visits and click counts while the database or one of two nodes fails. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type EmbeddedServer, execute, startPostgres } from './postgres.ts'
import { eventually, newDatabase, type Variables } from './processes.ts'
import { Crowd, databaseOn, startTwo, startVisited, statusesOf, type VisitedServer } from './visited-server.ts'

const host = 'http://go.acme.com'
const known = `${host}/known`
const limited = `${host}/limited`
const none = `${host}/none`
/** Stores a plain link, and one with a limit that is never reached. */
async function storeLinks(server: VisitedServer, prefix = ''): Promise<{ known: number; limited: number }> {
  if (prefix === '') await server.stored('/domains', { name: 'go.acme.com' })
  const store = (json: object) => server.stored('/links', { url: 'https://acme.com', ...json })
  const ids = [
    await store({ alias: `${prefix}known` }),
    await store({ alias: `${prefix}limited`, clicks_limit: 1_000_000 }),
  ]
  return { known: ids[0].id, limited: ids[1].id }
}

async function clicksOf(server: VisitedServer, id: number): Promise<number> {
  return (await server.ask('GET', `/links/${id}`)).body.data.clicks
}

/** Returns a link's clicks in the database, which no server needs to serve. */
async function storedClicks({ DATABASE_URL = '' }: Variables, link: number): Promise<number> {
  const text = `select clicks from link_clicks where link_id = ${link}`
  if (DATABASE_URL.startsWith('postgres:')) return Number((await execute(DATABASE_URL, text))[0]?.clicks)
  const database = new DatabaseSync(DATABASE_URL.replace(/^sqlite:/, ''))
  const row = database.prepare(text).get()
  database.close()
  return Number(row?.clicks)
}

/** Suspends every process of the server: connections stay open, and nothing responds. Returns a function that resumes them. */
async function freeze({ url, folder }: EmbeddedServer): Promise<() => void> {
  const rows = await execute(url, 'select pid from pg_stat_activity where pid <> pg_backend_pid()')
  const main = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])
  const pids = [main, ...rows.map(({ pid }) => Number(pid))]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

test('serves known links while PostgreSQL is down or silent, returns 503 for others, and loses only clicks being committed', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const server = await startVisited(t, { DATABASE_URL: postgres.url })
  const ids = await storeLinks(server)
  const crowd = new Crowd(t, [server], [known], 2)
  const others = new Crowd(t, [server], [limited, none], 2)
  const passed = () => others.of(limited).filter(({ status }) => status === 302).length
  const silence = () => freeze(postgres)
  const stop = async () => {
    await postgres.halt()
    return () => postgres.resume()
  }
  for (const begin of [silence, stop]) {
    const before = passed()
    await eventually(() => passed() > before + 10)
    const [from, othersFrom] = [crowd.now(), others.now()]
    const end = await begin()
    const served = crowd.redirected()
    const isMissed = () => others.since(othersFrom).some(({ status }) => status === 503)
    await eventually(() => crowd.redirected() > served + 50 && isMissed())
    await end()
    const length = passed()
    await eventually(() => passed() > length + 10)
    const during = crowd.since(from)
    assert.deepEqual(Object.keys(statusesOf(during)), ['302'])
    assert.ok(others.visits.every(({ status }) => [302, 404, 503].includes(status ?? 0)))
  }
  await Promise.all([crowd.end(), others.end()])

  const lost = await server.metric('waymark_clicks_lost')
  const taken = await clicksOf(server, ids.limited)
  assert.equal((await server.end('SIGTERM')).code, 0)
  assert.equal((await storedClicks({ DATABASE_URL: postgres.url }, ids.known)) + lost, crowd.redirected())
  // A click may be counted without a redirect if its commit was interrupted. The opposite never happens.
  const refused = others.of(limited).filter(({ status }) => status === 503).length
  assert.ok(taken >= others.redirected() && taken <= others.redirected() + refused, `${taken} taken`)
})

test('serves known links while another process locks the SQLite file, and loses no click', async (t) => {
  const { path, variables } = newDatabase(t)
  const server = await startVisited(t, variables)
  const ids = await storeLinks(server)
  const crowd = new Crowd(t, [server], [known, none], 2)
  const others = new Crowd(t, [server], [limited], 2)
  await eventually(() => crowd.redirected() > 10 && others.redirected() > 10)
  const locker = new DatabaseSync(path, { timeout: 5_000 })
  t.after(() => locker.close())
  locker.exec('begin immediate')
  const from = crowd.now()
  await eventually(() => crowd.since(from).length > 100)
  const during = crowd.since(from)
  locker.exec('rollback')
  const length = others.redirected()
  await eventually(() => others.redirected() > length + 10)
  await Promise.all([crowd.end(), others.end()])
  assert.deepEqual(Object.keys(statusesOf(during)).sort(), ['302', '404'])
  assert.ok(others.visits.every(({ status }) => status === 302 || status === 503))
  assert.equal((await server.end('SIGTERM')).code, 0)
  assert.equal(await storedClicks(variables, ids.known), crowd.redirected())
  assert.equal(await storedClicks(variables, ids.limited), others.redirected())
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`two nodes on ${engine} count every click under edits until SIGTERM; SIGKILL of one affects no visitor of the other and no stored click`, async (t) => {
    const variables = await databaseOn(t, engine)
    const [first, second] = await startTwo(t, variables)
    const ids = await storeLinks(first)
    const edited = await storeLinks(first, 'edited-')
    await eventually(async () => (await second.visit(`${host}/edited-known+`)).status === 200)
    const crowd = new Crowd(t, [first, second], [known, limited])
    const passed = (url: string) => crowd.of(url).filter(({ status }) => status === 302).length
    await eventually(() => crowd.redirected(first.visitPort) > 40)
    // Each node stores its clicks within a second.
    const least = passed(known)
    await eventually(async () => (await clicksOf(second, ids.known)) >= least)
    await first.end('SIGKILL')
    const killedAt = crowd.now()
    const here = crowd.redirected(second.visitPort)
    await eventually(() => crowd.redirected(second.visitPort) > here + 40)
    await crowd.end()
    const survivors = crowd.visits.filter(({ port }) => port === second.visitPort)
    assert.deepEqual(Object.keys(statusesOf(survivors)), ['302'])

    const nodes = [second, await startVisited(t, variables, first.key)] as const
    const [editedKnown, editedLimited] = [`${host}/edited-known`, `${host}/edited-limited`]
    const visitors = new Crowd(t, nodes, [editedKnown, editedKnown, editedKnown, editedLimited])
    let edits = 0
    for (; visitors.visits.length < 200 || edits < 12; edits++) {
      const { ask } = nodes[edits % 2] as VisitedServer
      const json = edits % 3 ? { url: `https://acme.com/${edits}` } : { title: `Edit ${edits}`, space_id: '' }
      const { status, text } = await ask('PATCH', `/links/${edited.known}`, { json })
      assert.equal(status, 200, text)
      await wait(50)
    }
    for (const { code } of await Promise.all(nodes.map(({ end }) => end('SIGTERM')))) assert.equal(code, 0)
    await visitors.end()
    const counted = (url: string) => visitors.of(url).filter(({ status }) => status === 302).length
    const clicks = [await storedClicks(variables, edited.known), await storedClicks(variables, edited.limited)]
    assert.deepEqual(clicks, [counted(editedKnown), counted(editedLimited)])

    const [unlimited, taken] = [await storedClicks(variables, ids.known), await storedClicks(variables, ids.limited)]
    const unanswered = crowd.visits.filter(({ status, at }) => status === null && at <= killedAt).length
    assert.ok(unlimited >= least && unlimited <= passed(known) + unanswered, String(unlimited))
    // A click within a limit is on disk before its visitor is redirected.
    assert.ok(
      taken >= passed(limited) && taken <= passed(limited) + unanswered,
      `${taken} taken, ${passed(limited)} passed`,
    )
  })
}
