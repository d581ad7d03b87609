/** A node whose DATABASE_URL reaches a standby, for example during a failover. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import { createKey } from '../src/keys/store.ts'
import { openStorage } from '../src/storage/open.ts'
import { sendRequest } from './client.ts'
import { newDomain, newLink, newSpace } from './links.ts'
import { type EmbeddedServer, execute, startPostgres } from './postgres.ts'
import { eventually } from './processes.ts'
import { startVisited, type VisitedServer } from './visited-server.ts'

const shortUrl = 'http://go.acme.com/sale'

/** Starts a standby of a primary that is down. Returns a key, and the paths of a space and a link. */
async function startStandby(t: TestContext) {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  const storage = await openStorage({ engine: 'postgres', url: primary.url, pool: 1 })
  const { id: account } = await createAccount(storage, 'Acme')
  const { secret: key } = await createKey(storage, systemActor(account), {
    name: 'test',
    scopes: ['*'],
    lifetimeMs: null,
  })
  const space = await newSpace(storage, account, 'before')
  const domain = await newDomain(storage, account, 'go.acme.com')
  const link = await newLink(storage, { account, domain }, 'sale')
  await storage.close()
  await primary.halt()
  const folder = join(mkdtempSync(join(tmpdir(), 'waymark-')), 'standby')
  // The server's files belong to its own user when the tests run as root.
  execFileSync('cp', ['-a', primary.folder, folder])
  chmodSync(dirname(folder), 0o755)
  writeFileSync(join(folder, 'standby.signal'), '')
  t.after(() => rmSync(dirname(folder), { recursive: true, force: true }))
  const standby: EmbeddedServer = await startPostgres({ folder })
  t.after(() => standby.stop())
  return { standby, key, space: `/spaces/${space}`, link: `/links/${link}` }
}

/** Returns status, state and reason that the server's three health checks report. */
async function healthOf(server: VisitedServer): Promise<unknown[]> {
  const asked = ['/health/ready', '/health/live'].map((path) =>
    sendRequest({ agent: undefined, port: server.opsPort, method: 'GET', path }, { key: null }),
  )
  const answers = await Promise.all([server.send('GET', '/health', { key: null }), ...asked])
  return answers.map(({ status, body }) => [status, body.status, body.reason])
}

test('a node on a standby is degraded and not ready, and writes its clicks once when the standby is promoted', async (t) => {
  const { standby, key, space, link } = await startStandby(t)
  const server = await startVisited(t, { DATABASE_URL: standby.url }, key)
  assert.equal((await server.ask('GET', space)).status, 200)
  assert.equal((await server.ask('GET', '/spaces')).body.meta.total, 1)
  const refused = [
    await server.ask('POST', '/spaces', { form: { name: 'late', color: 1 } }),
    await server.ask('PATCH', space, { form: { color: 2 } }),
    await server.ask('DELETE', space),
  ]
  for (const { status, body, headers } of refused) {
    assert.deepEqual([status, body.code, body.reason], [503, 'database_unavailable', 'read_only'])
    assert.equal(headers['retry-after'], '1')
  }
  const degraded = [503, 'degraded', 'read_only']
  assert.deepEqual(await healthOf(server), [degraded, degraded, [200, 'live', undefined]])
  for (let n = 0; n < 5; n++) assert.equal((await server.visit(shortUrl)).status, 302)
  // The click thread has tried to write by now.
  await server.said(/"reason":"read_only"[^\n]*clicks/)
  await eventually(async () => (await server.metric('waymark_clicks_unwritten')) === 5)

  await execute(standby.url, 'select pg_promote()')
  const well = [
    [200, 'ok', undefined],
    [200, 'ready', undefined],
    [200, 'live', undefined],
  ]
  await eventually(async () => (await healthOf(server)).join() === well.join())
  await eventually(async () => (await server.ask('GET', link)).body.data.clicks === 5)
  assert.equal((await server.end('SIGTERM')).code, 0)
  assert.deepEqual(await execute(standby.url, 'select clicks::integer, link_id::integer from link_clicks'), [
    { clicks: 5, link_id: 1 },
  ])
})
