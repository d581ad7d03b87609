/** Nodes behind PgBouncer in transaction mode: statements of one connection run on any of its server connections. */
import assert from 'node:assert/strict'
import { type TestContext, test as testOf } from 'node:test'
import pg from 'pg'
import { sharedConnections } from '../src/storage/postgres/errors.ts'
import { openPostgres } from '../src/storage/postgres/open.ts'
import { missingPgBouncer, startPgBouncer } from './pgbouncer.ts'
import { execute } from './postgres.ts'
import { newDatabase } from './postgres-database.ts'
import { eventually } from './processes.ts'
import { startVisited, type VisitedServer } from './visited-server.ts'
import { run } from './waymark.ts'

const test = (promise: string, work: (t: TestContext) => Promise<void>) =>
  testOf(promise, { skip: missingPgBouncer(21) }, work)

/** The settings from docs/postgresql.md. */
const documented = [
  'max_prepared_statements = 200',
  'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout',
]

async function emptyDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await newDatabase(false)
  t.after(drop)
  return url
}

const advisoryLocks = `select pid, objid from pg_locks
  where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`
const madeIndexes = `select 1 from pg_index where indisvalid
  and indexrelid in (to_regclass('links_by_text'), to_regclass('spaces_by_text'))`
const connections = `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`

test('leaves no lock behind when nodes migrate together while others work', async (t) => {
  const url = await emptyDatabase(t)
  const pooled = await startPgBouncer(t, url, documented)
  let isOver = false
  const others = Array.from({ length: 4 }, async () => {
    const client = new pg.Client({ connectionString: pooled })
    await client.connect()
    while (!isOver) await client.query('select pg_sleep(0.001)')
    await client.end()
  })
  const opened = await Promise.all(Array.from({ length: 4 }, () => openPostgres(pooled, 1)))
  await Promise.all(opened.map((storage) => storage.close()))
  isOver = true
  await Promise.all(others)
  assert.deepEqual(await execute(url, advisoryLocks), [])
})

test('writes, searches and counts clicks from two nodes on three server connections, and leaves no lock behind', async (t) => {
  const url = await emptyDatabase(t)
  const DATABASE_URL = await startPgBouncer(t, url, documented)
  await (await openPostgres(DATABASE_URL, 1)).close()
  await execute(url, 'drop index links_by_text; drop index spaces_by_text')
  const first = await startVisited(t, { DATABASE_URL })
  const nodes = [first, await startVisited(t, { DATABASE_URL }, first.key)]
  await first.stored('/domains', { name: 'go.acme.com' })
  const { id } = await first.stored('/links', { url: 'https://acme.com', domain_id: 1, alias: 'sale' })
  let redirects = 0
  const visit = async (node: VisitedServer) => {
    const { status } = await node.visit('http://go.acme.com/sale')
    if (status === 302) redirects += 1
    return status === 302
  }
  // The other node reads the link's domain within a second.
  for (const node of nodes) await eventually(() => visit(node))
  const work = async (node: VisitedServer, client: number) => {
    for (let n = 0; n < 10; n++) {
      const space = await node.stored('/spaces', { name: `space ${client} ${n}`, color: 1 })
      const edited = await node.ask('PATCH', `/spaces/${space.id}`, { json: { color: 2 } })
      const read = await node.ask('GET', `/spaces/${space.id}`)
      const found = await node.ask('GET', `/spaces?search=space%20${client}%20${n}`)
      assert.deepEqual([edited.status, read.body.data.color, found.status], [200, 2, 200])
      assert.ok(await visit(node))
    }
  }
  await Promise.all(nodes.flatMap((node) => Array.from({ length: 6 }, (_, client) => work(node, client))))
  assert.equal((await first.ask('GET', '/spaces')).body.meta.total, 120)
  await eventually(async () => (await first.ask('GET', `/links/${id}`)).body.data.clicks === redirects)
  await eventually(async () => (await execute(url, madeIndexes)).length === 2)
  await eventually(async () => (await execute(url, advisoryLocks)).length === 0)
  assert.ok((await execute(url, connections)).length <= 3)
  for (const node of nodes) assert.equal((await node.end('SIGTERM')).code, 0)
})

/** PgBouncer 1.18 never keeps statements, and rejects the setting that newer versions need. */
const withoutStatements = missingPgBouncer(21) === false ? ['max_prepared_statements = 0'] : []

for (const [preferred, setting] of [
  ['latest', 'server_round_robin = 0'],
  ['oldest', 'server_round_robin = 1'],
] as const) {
  testOf(
    `does not start in transaction mode without prepared statements, with the ${preferred} free connection`,
    {
      skip: missingPgBouncer(),
    },
    async (t) => {
      const url = await emptyDatabase(t)
      const DATABASE_URL = await startPgBouncer(t, url, [setting, ...withoutStatements, ...documented.slice(1)])
      for (let n = 0; n < 3; n++) await assert.rejects(openPostgres(DATABASE_URL, 1), { message: sharedConnections })
      const { code, stderr } = await run(t, { DATABASE_URL, PORT: '0' }).ended
      assert.deepEqual([code, stderr], [1, `${sharedConnections}\n`])
    },
  )
}

testOf('starts in session mode', { skip: missingPgBouncer() }, async (t) => {
  const url = await emptyDatabase(t)
  const settings = ['pool_mode = session', 'default_pool_size = 20', ...withoutStatements, ...documented.slice(1)]
  const node = await startVisited(t, { DATABASE_URL: await startPgBouncer(t, url, settings) })
  for (const name of ['a', 'b', 'c']) await node.stored('/spaces', { name })
  assert.equal((await node.end('SIGTERM')).code, 0)
})
