/** The log of changes and clicks under conditions that only PostgreSQL has. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { keptTotals } from '../../../test/clicks.ts'
import { deleteLink, newDomain, newLink, newSpace, setSpace, setUrl } from '../../../test/links.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { Wire } from '../../../test/wire.ts'
import { systemActor } from '../../access/actor.ts'
import { createAccount } from '../../accounts/store.ts'
import { type Click, ClickStore } from '../../analytics/click-store.ts'
import { ClickMaintenance } from '../../analytics/maintenance.ts'
import type { BatchWriter } from '../port.ts'
import { openPostgresBatchWriter } from './batch-writer.ts'
import { openPostgres } from './open.ts'

async function open(t: TestContext) {
  const { url, drop } = await newDatabase()
  const wire = new Wire(url)
  const wired = await wire.url()
  const storage = await openPostgres(wired, 3)
  const database = openPostgresBatchWriter(wired)
  const store = new ClickStore(database, randomUUID())
  const maintenance = new ClickMaintenance(database)
  const client = new pg.Client(url)
  await client.connect()
  t.after(async () => {
    await client.end()
    await storage.close()
    await database.close()
    wire.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  const domain = await newDomain(storage, account, 'go.acme.com')
  const link = (alias: string, limit?: number) => newLink(storage, { account, domain }, alias, limit)
  return { storage, wire, client, link, store, maintenance, account, url }
}

test('returns a change once, even if later ones were committed and read before it', async (t) => {
  const { storage, client, link } = await open(t)
  const [early, late] = [await link('early'), await link('late')]
  const { position: first } = await storage.changesAfter(null)
  await client.query('begin')
  await client.query(`update links set url = 'https://acme.com/1', revision = revision + 1 where id = $1`, [early])
  await storage.execute(setUrl({ id: late, url: 'https://acme.com/2' }))
  const second = await storage.changesAfter(first)
  assert.deepEqual(second.changes, [{ resource: 'links', id: late }])
  await client.query('commit')
  const third = await storage.changesAfter(second.position)
  assert.deepEqual(third.changes, [{ resource: 'links', id: early }])
  assert.deepEqual((await storage.changesAfter(third.position)).changes, [])
})

test('leaves out changes of another server’s dump with future transaction ids', async (t) => {
  const { storage, client } = await open(t)
  const { position } = await storage.changesAfter(null)
  await client.query(`insert into changes (transaction, resource, record_id) values ('9000000000', 'links', 1)`)
  assert.deepEqual((await storage.changesAfter(position)).changes, [])
})

/** A batch of clicks of one link. */
const clicks = (link: number) => [
  { link, atMs: 0, count: 1, class: 'person' as const, facts: null, visitorUnder: () => 7 },
]

for (const [when, statement, before, written] of [
  ['during', 'COMMIT', 1, undefined],
  ['before', 'INSERT', 0, 1],
] as const) {
  test(`writes a batch once if its connection breaks ${when} the commit and it is sent again`, async (t) => {
    const { storage, wire, link, store } = await open(t)
    const id = await link('sale')
    wire.onAnswer = (bytes) => (bytes.includes(statement) ? null : bytes)
    await assert.rejects(store.write(1, clicks(id)), { code: 'database_unavailable' })
    wire.onAnswer = (bytes) => bytes
    wire.mend()
    assert.equal((await keptTotals(storage))[0]?.clicks, before)
    assert.equal((await store.write(1, clicks(id)))?.length, written)
    assert.equal((await keptTotals(storage))[0]?.clicks, 1)
  })
}

test('keeps the connection after a failed statement', async (t) => {
  const { storage, client, link, store } = await open(t)
  const id = await link('sale')
  await client.query('alter table link_clicks add constraint few check (clicks < 2)')
  await assert.rejects(store.write(1, [...clicks(id), ...clicks(id)]), { code: '23514' })
  assert.equal((await store.write(2, clicks(id)))?.length, 1)
  assert.equal((await keptTotals(storage))[0]?.clicks, 1)
})

const clickOn = (link: number): Click => ({
  ...{ link, atMs: Date.now(), count: 1, class: 'person', facts: null, visitorUnder: null },
})

test('waits for the deletion of a link without a deadlock when a click is taken, counted or deleted', async (t) => {
  const { storage, client, link, store, maintenance, account } = await open(t)
  await client.query(`set deadlock_timeout = '10ms'`)
  const works = [
    (id: number) => store.take(clickOn(id)),
    (id: number) => store.write(1, [clickOn(id)]),
    (id: number) => maintenance.deleteClicks(systemActor(account), id),
  ]
  const became: unknown[] = []
  for (const [n, work] of works.entries()) {
    const id = await link(`limited-${n}`, 1)
    await client.query('begin')
    await client.query('select from links where id = $1 for update', [id])
    const worked = work(id)
    while ((await client.query(waiting)).rows.length === 0);
    await client.query('delete from links where id = $1', [id])
    await client.query('commit')
    became.push(await worked)
  }
  assert.deepEqual(became, [false, [], false])
  assert.deepEqual(await keptTotals(storage), [])
})

const waiting = 'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))'

test('loses no clicks while links with a limit are deleted and their clicks are taken, counted and deleted', async (t) => {
  const { storage, url, link, account } = await open(t)
  const databases = [1, 2, 3].map(() => openPostgresBatchWriter(url)) as [BatchWriter, BatchWriter, BatchWriter]
  const [taker, counter] = [new ClickStore(databases[0], randomUUID()), new ClickStore(databases[1], randomUUID())]
  const maintenance = new ClickMaintenance(databases[2])
  const kept = await link('kept', 1_000)
  let taken = 0
  for (let round = 1; round <= 40; round++) {
    const gone = [await link(`a${round}`, 5), await link(`b${round}`, 5)] as const
    const [, , ...takes] = await Promise.all([
      counter.write(round, [clickOn(kept), ...gone.map(clickOn)]),
      Promise.all(gone.map((id) => maintenance.deleteClicks(systemActor(account), id))),
      ...[...gone, kept].map((id) => taker.take(clickOn(id))),
      ...gone.map((id) => storage.execute(deleteLink({ id }))),
    ])
    taken += Number(takes[2])
  }
  for (const database of databases) await database.close()
  const [totals, ...others] = await keptTotals(storage)
  assert.deepEqual([totals?.link_id, totals?.clicks, taken, others], [kept, 80, 40, []])
})

test('rewrites the table of salts when salts are deleted, and not when clicks are', async (t) => {
  const { client, link, store, maintenance, account } = await open(t)
  const id = await link('sale')
  await store.write(1, [{ ...clickOn(id), atMs: 0, visitorUnder: () => 7 }])
  const fileOfSalts = async () =>
    (await client.query(`select pg_relation_filenode('click_salts') as file`)).rows[0].file
  const file = await fileOfSalts()
  assert.equal(await maintenance.deleteClicks(systemActor(account), id), true)
  assert.equal(await fileOfSalts(), file)
  await maintenance.run({ visitorsUntilMs: 0, daysBefore: 0, nowMs: 0 })
  assert.notEqual(await fileOfSalts(), file)
})

test('moves clicks after a link that moves again during their move', async (t) => {
  const { storage, client, link, store, maintenance, account } = await open(t)
  const [red, blue] = [await newSpace(storage, account, 'Red'), await newSpace(storage, account, 'Blue')]
  const id = await link('sale')
  await store.write(1, [clickOn(id)])
  await storage.execute(setSpace({ id, space: red }))
  await client.query('update link_clicks set space_id = $1', [red])
  // The query for moves starts and waits.
  await client.query(`
    alter table click_moves rename to all_moves;
    create function pause() returns boolean language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(7); return true; end $$;
    create view click_moves as select link_id from all_moves where pause();
    select pg_advisory_lock(7)`)
  const moved = maintenance.moveClicks()
  while ((await client.query(waiting)).rows.length === 0);
  await client.query('update links set space_id = $1 where id = $2', [blue, id])
  await client.query('select pg_advisory_unlock(7)')
  await moved
  await maintenance.moveClicks()
  assert.deepEqual(
    (await keptTotals(storage)).map(({ space_id }) => space_id),
    [blue],
  )
})

test('leaves no part of a day that another process deletes meanwhiles move', async (t) => {
  const { storage, client, link, store, maintenance, account } = await open(t)
  const id = await link('sale')
  await store.write(1, [clickOn(id)])
  await storage.execute(setSpace({ id, space: await newSpace(storage, account, 'Red') }))
  await client.query('begin')
  await client.query('delete from click_days')
  const moved = maintenance.moveClicks()
  while ((await client.query(waiting)).rows.length === 0);
  await client.query('commit')
  await moved
  assert.deepEqual((await client.query('select scope from click_days')).rows, [])
})
