/** Responses, visits and clicks while PostgreSQL or its network fails. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { execute, startPostgres } from './postgres.ts'
import { eventually } from './processes.ts'
import { Crowd, Load, startVisited, statusesOf, storedClicks } from './visited-server.ts'

const urls = ['known', 'limited', 'none'].map((alias) => `http://go.acme.com/${alias}`)
const [known = '', limited = '', none = ''] = urls

const postgres = await startPostgres()
after(() => postgres.stop())
const variables = { DATABASE_URL: postgres.url }
const server = await startVisited({ after }, variables)

/** Suspends all processes of PostgreSQL: connections stay open, and nothing responds. Returns a function that resumes them. */
async function silence(): Promise<() => void> {
  const rows = await execute(postgres.url, 'select pid from pg_stat_activity where pid <> pg_backend_pid()')
  const main = Number(readFileSync(join(postgres.folder, 'postmaster.pid'), 'utf8').split('\n')[0])
  const pids = [main, ...rows.map(({ pid }) => Number(pid))]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

/** Stops PostgreSQL. Returns a function that starts it again. */
async function stop(): Promise<() => Promise<void>> {
  await postgres.halt()
  return () => postgres.resume()
}

test('replaces connections that the database closes, without losing a write', async (t) => {
  const load = new Load(t, [server])
  for (let cut = 1; cut <= 5; cut++) {
    const { length } = load.acknowledged
    await eventually(() => load.acknowledged.length > length + 20)
    const ended = await execute(
      postgres.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    assert.ok(ended.length > 0)
  }
  const { length } = load.acknowledged
  await eventually(() => load.acknowledged.length > length + 50)
  assert.ok(load.outcomes.every(({ answer }) => answer !== null))
  await load.assertKept(variables)
})

test('returns 503 while the database is silent or down, but serves known links; loses no acknowledged write, and only clicks being committed', async (t) => {
  await server.stored('/domains', { name: 'go.acme.com' })
  const store = (alias: string, more = {}) => server.stored('/links', { url: 'https://acme.com', alias, ...more })
  const ids = { known: (await store('known')).id, limited: (await store('limited', { clicks_limit: 1_000_000 })).id }
  const load = new Load(t, [server])
  const crowd = new Crowd(t, [server], [known], 2)
  const others = new Crowd(t, [server], [limited, none], 2)
  const passed = () => others.of(limited).filter(({ status }) => status === 302).length
  const isWorking = async () => {
    const [redirects, { length }] = [passed(), load.acknowledged]
    await eventually(() => passed() > redirects + 10 && load.acknowledged.length > length + 50)
  }
  await isWorking()
  for (const begin of [silence, stop]) {
    const from = crowd.now()
    const end = await begin()
    const [failedAt, othersFailedAt, served] = [load.now(), others.now(), crowd.redirected()]
    const rejected = () => load.since(failedAt).filter(({ answer }) => answer?.status === 503).length
    const isMissed = () => others.since(othersFailedAt).some(({ status }) => status === 503)
    await eventually(() => rejected() >= 8 && crowd.redirected() > served + 50 && isMissed())
    assert.ok(load.since(failedAt).every(({ answer }) => answer?.status !== 201))
    assert.equal((await server.send('GET', '/health')).status, 503)
    await end()
    await isWorking()
    assert.deepEqual(Object.keys(statusesOf(crowd.since(from))), ['302'])
    assert.ok(others.visits.every(({ status }) => [302, 404, 503].includes(status ?? 0)))
  }
  await Promise.all([crowd.end(), others.end()])
  assert.ok(load.outcomes.every(({ answer }) => answer !== null))
  await load.assertKept(variables)

  const lost = await server.metric('waymark_clicks_lost_total')
  const taken = await storedClicks(variables, ids.limited)
  assert.equal((await server.end('SIGTERM')).code, 0)
  assert.equal((await storedClicks(variables, ids.known)) + lost, crowd.redirected())
  // A click may be counted without a redirect if its commit was interrupted. The opposite never happens.
  const refused = others.of(limited).filter(({ status }) => status === 503).length
  assert.ok(taken >= others.redirected() && taken <= others.redirected() + refused, `${taken} taken`)
})
