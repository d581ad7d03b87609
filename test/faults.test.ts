/** Faults of the machine under a server on SQLite: a full disk, damaged pages and locks. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sendRequest } from './client.ts'
import { damage } from './lists-model.ts'
import {
  eventually,
  freePort,
  listening,
  newDatabase,
  type RunningServer,
  startProgram,
  type Variables,
} from './processes.ts'
import { Crowd, startVisited, statusesOf, storedClicks } from './visited-server.ts'
import { serverArguments, startServer } from './waymark.ts'

const domains = '/api/v1/domains'
/** Long, so that few fill a page. */
const urlOf = (name: string) => `https://example.com/${name}/${'x'.repeat(1_500)}`

/** Stores domains until the server responds with 503, or until there are `most`. Appends their ids. */
async function storeUntilRefused(server: RunningServer, stored: number[], most = 20_000): Promise<void> {
  while (stored.length < most) {
    const name = `n${stored.length}.example.com`
    const { status, body, headers } = await server.send('POST', domains, { form: { name, homepage_url: urlOf(name) } })
    if (status === 503) {
      const { code, reason } = body
      assert.deepEqual([code, reason, headers['retry-after']], ['database_unavailable', 'disk_full', '1'])
      return
    }
    assert.equal(status, 201)
    stored.push(body.data.id)
  }
}

/** Returns the status, the condition or code, and the reason from both health checks. */
async function healthOf(server: RunningServer, opsPort: number): Promise<unknown[]> {
  const answers = await Promise.all([
    server.send('GET', '/health', { key: null }),
    sendRequest({ agent: undefined, port: opsPort, method: 'GET', path: '/health/ready' }, { key: null }),
  ])
  return answers.map(({ status, body }) => [status, status === 200 ? body.status : body.code, body.reason])
}

const well = [
  [200, 'ok', undefined],
  [200, 'ready', undefined],
]

/** Returns the reason and message of each logged failure of the database. */
function troubles(server: RunningServer): unknown[] {
  return [...server.stdout().matchAll(/^.*"code":"database_unavailable","reason".*$/gm)].map(([line]) => {
    const { reason, msg } = JSON.parse(line)
    return [reason, msg]
  })
}

/** Starts a server whose files are limited to 1.5 MB, so that writes fail like on a full disk. */
function startLimited(t: TestContext, variables: Variables): Promise<RunningServer> {
  const line = `ulimit -f 3000 && exec "$0" "$@"`
  return listening(
    startProgram(t, ['sh', '-c', line, process.execPath, ...serverArguments], {
      PORT: '0',
      RATE_LIMIT: '0',
      ...variables,
    }),
  )
}

test('returns 503 for writes on a full disk, keeps reading, is degraded until there is room, and loses no acknowledged write', async (t) => {
  const { path, variables } = newDatabase(t)
  const OPS_PORT = String(await freePort())
  const server = await startLimited(t, { ...variables, OPS_PORT })
  const health = () => healthOf(server, Number(OPS_PORT))
  assert.deepEqual(await health(), well)
  const stored: number[] = []
  const degraded = [200, 'degraded', 'disk_full']
  // The thread that fills the search index may make room for another write: it moves the log into the database file.
  await eventually(async () => {
    await storeUntilRefused(server, stored)
    return isDeepStrictEqual(await health(), [degraded, degraded])
  })
  assert.ok(stored.length > 10 && stored.length < 20_000, String(stored.length))
  for (const id of stored.slice(-20)) assert.equal((await server.send('GET', `${domains}/${id}`)).status, 200)
  assert.equal((await server.send('GET', `${domains}?search=n1`)).status, 200)
  for (let n = 0; n < 5; n++) await storeUntilRefused(server, stored)
  await server.send('GET', '/health', { headers: { 'x-request-id': 'last' } })
  await server.said(/"request_id":"last"/)
  assert.deepEqual(troubles(server), [['disk_full', 'The database is not available right now. Try again shortly.']])

  // A process without this limit makes room. It waits for the thread that fills the search index.
  const other = new DatabaseSync(path, { timeout: 30_000 })
  assert.equal(other.prepare('pragma wal_checkpoint(truncate)').get()?.busy, 0)
  other.close()
  assert.deepEqual(await health(), well)
  const { length } = stored
  await storeUntilRefused(server, stored)
  assert.ok(stored.length > length)
  await server.end('SIGKILL')

  const again = await startServer(t, variables)
  const found: number[] = []
  for (let after: number | undefined; found.length < stored.length; after = found.at(-1)) {
    const query = `per_page=100&sort=asc${after === undefined ? '' : `&after=${after}`}`
    const { body } = await again.send('GET', `${domains}?${query}`, { key: server.key })
    assert.equal(body.meta.total, stored.length)
    found.push(...body.data.map(({ id }: { id: number }) => id))
  }
  assert.deepEqual(found, stored)
  const refused = `n${stored.length}.example.com`
  assert.equal((await again.send('POST', domains, { key: server.key, form: { name: refused } })).status, 201)
  assert.equal((await again.end('SIGTERM')).code, 0)
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  assert.equal(database.prepare('pragma integrity_check').get()?.integrity_check, 'ok')
})

test('returns 503 for records on a damaged page only, and keeps the file', async (t) => {
  const { path, variables } = newDatabase(t)
  const first = await startServer(t, variables)
  const stored: number[] = []
  await storeUntilRefused(first, stored, 60)
  await first.end('SIGTERM')
  // Only the domain's row has its name twice in a row, not its event.
  damage(path, 'n30.example.comn30.example.com')
  const { length } = readFileSync(path)

  const OPS_PORT = String(await freePort())
  const server = await startServer(t, { ...variables, OPS_PORT })
  assert.deepEqual(await healthOf(server, Number(OPS_PORT)), well)
  const statuses = new Map<number, number>()
  for (const id of stored) {
    const { status, body } = await server.send('GET', `${domains}/${id}`, { key: first.key })
    if (status === 503) assert.deepEqual([body.code, body.reason], ['database_unavailable', 'database_corrupt'])
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  assert.deepEqual([...statuses.keys()].sort(), [200, 503])
  assert.ok((statuses.get(200) ?? 0) > 50, JSON.stringify([...statuses]))
  const corrupt = [503, 'database_unavailable', 'database_corrupt']
  assert.deepEqual(await healthOf(server, Number(OPS_PORT)), [corrupt, corrupt])
  await server.said(/"reason":"database_corrupt"/)
  assert.equal((await server.end('SIGTERM')).code, 0)
  assert.ok(readFileSync(path).length >= length)
})

test('serves known links while another process locks the database file, and loses no click', async (t) => {
  const { path, variables } = newDatabase(t)
  const server = await startVisited(t, variables)
  await server.stored('/domains', { name: 'go.acme.com' })
  const store = (alias: string, more = {}) => server.stored('/links', { url: 'https://acme.com', alias, ...more })
  const ids = { known: (await store('known')).id, limited: (await store('limited', { clicks_limit: 1_000_000 })).id }
  const urlOf = (alias: string) => `http://go.acme.com/${alias}`
  const crowd = new Crowd(t, [server], ['known', 'none'].map(urlOf), 2)
  const others = new Crowd(t, [server], [urlOf('limited')], 2)
  await eventually(() => crowd.redirected() > 10 && others.redirected() > 10)
  const locker = new DatabaseSync(path, { timeout: 300_000 })
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
