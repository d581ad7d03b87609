/** What PostgreSQL alone can do to the log of changes and to clicks. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { firstPage } from '../../../test/first-page.ts'
import { clicksOf, newDomain, newLink, setUrl } from '../../../test/links.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { eventually } from '../../../test/processes.ts'
import { Wire } from '../../../test/wire.ts'
import { createAccount } from '../../accounts/store.ts'
import { listLinks } from '../../links/store.ts'
import { openPostgres } from './open.ts'

async function open(t: TestContext) {
  const { url, drop } = await newDatabase()
  const wire = new Wire(url)
  const storage = await openPostgres(await wire.url(), 3)
  const client = new pg.Client(url)
  await client.connect()
  t.after(async () => {
    await client.end()
    await storage.close()
    wire.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  const domain = await newDomain(storage, account, 'go.acme.com')
  const link = (alias: string, limit: number | null = null) => newLink(storage, { account, domain }, alias, limit)
  return { storage, wire, client, account, link }
}

test('a change is told once, also if later ones were committed and told before it', async (t) => {
  const { storage, client, link } = await open(t)
  const [early, late] = [await link('early'), await link('late')]
  const { position: first } = await storage.changesAfter(null)
  await client.query('begin')
  await client.query(`update links set url = 'https://acme.com/1' where id = $1`, [early])
  await storage.writeOne(setUrl, { id: late, url: 'https://acme.com/2' })
  const second = await storage.changesAfter(first)
  assert.deepEqual(second.changes, [{ resource: 'links', id: late }])
  await client.query('commit')
  const third = await storage.changesAfter(second.position)
  assert.deepEqual(third.changes, [{ resource: 'links', id: early }])
  assert.deepEqual((await storage.changesAfter(third.position)).changes, [])
})

test('changes of a dump of another server, whose transactions are to come, are not told', async (t) => {
  const { storage, client } = await open(t)
  const { position } = await storage.changesAfter(null)
  await client.query(`insert into changes (transaction, resource, record_id) values ('9000000000', 'links', 1)`)
  assert.deepEqual((await storage.changesAfter(position)).changes, [])
})

test('false when the connection broke during the commit; what the server kept is not written again', async (t) => {
  const { storage, wire, link } = await open(t)
  const id = await link('sale')
  wire.onAnswer = (bytes) => (bytes.includes('COMMIT') ? null : bytes)
  assert.equal(await storage.addClicks([{ id, clicks: 1, lastClickedAt: 0 }]), false)
  wire.onAnswer = (bytes) => bytes
  wire.mend()
  assert.equal((await storage.all(clicksOf, { id }))[0]?.clicks, 1)
})

test('database_unavailable when the connection broke before the commit: nothing was kept', async (t) => {
  const { storage, wire, link } = await open(t)
  const id = await link('sale')
  wire.onAnswer = (bytes) => (bytes.includes('UPDATE') ? null : bytes)
  await assert.rejects(storage.addClicks([{ id, clicks: 1, lastClickedAt: 0 }]), { code: 'database_unavailable' })
  wire.onAnswer = (bytes) => bytes
  wire.mend()
  assert.equal((await storage.all(clicksOf, { id }))[0]?.clicks, 0)
})

test('a statement that fails leaves the connection to others', async (t) => {
  const { storage, client, link } = await open(t)
  const id = await link('sale')
  await client.query('alter table link_clicks add constraint few check (clicks < 3)')
  await assert.rejects(storage.addClicks([{ id, clicks: 5, lastClickedAt: 0 }]), { code: '23514' })
  assert.equal(await storage.addClicks([{ id, clicks: 2, lastClickedAt: 0 }]), true)
})

test('a state is the one after the last click, also if it was brought up to date while that was taken', async (t) => {
  const { storage, client, account, link } = await open(t)
  const id = await link('sale', 1)
  await client.query(`update links set status_due_at = '' where id = $1`, [id])
  await client.query('begin')
  await client.query('update link_clicks set clicks = 1 where link_id = $1', [id])
  await client.query(`update links set status_due_at = '' where id = $1`, [id])
  const expired = listLinks(storage, account, { ...firstPage, filter: { status: 'expired' } })
  await eventually(async () => (await client.query('select from pg_locks where not granted')).rowCount === 1)
  await client.query('commit')
  assert.deepEqual(
    (await expired).rows.map((row) => row.id),
    [id],
  )
})
