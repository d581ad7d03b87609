/** Merging tags and bulk requests on PostgreSQL while other transactions have locked tags and links. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { actionsOn } from '../../test/actions.ts'
import { newDomain, newLink } from '../../test/links.ts'
import { newDatabase } from '../../test/postgres-database.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { listRecordEvents } from '../events/store.ts'
import { lockLinks } from '../links/store.ts'
import { openPostgres } from '../storage/postgres/open.ts'
import { beginTagMerge, insertTag } from './store.ts'

/** Returns a database with two tags and a link, and a client that holds locks. */
async function open(t: TestContext) {
  const { url, drop } = await newDatabase()
  const storage = await openPostgres(url, 3)
  const client = new pg.Client(url)
  await client.connect()
  t.after(async () => {
    await client.end()
    await storage.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  const tag = async (name: string) => (await insertTag(storage, systemActor(account), { name, color: 1 })).record.id
  const place = { account, domain: await newDomain(storage, account, 'go.acme.com') }
  const [link, later] = [await newLink(storage, place, 'x'), await newLink(storage, place, 'y')]
  /** Resolves when this many transactions wait for a lock. */
  const waiting = async (count: number) => {
    const query = 'select distinct pid from pg_locks where not granted'
    while ((await client.query(query)).rows.length < count);
  }
  return { storage, client, account, link, later, waiting, a: await tag('a'), b: await tag('b') }
}

test('two merges of the same tags lock them in the same order, so that one of them succeeds', async (t) => {
  const { storage, client, account, waiting, a, b } = await open(t)
  await client.query('begin')
  await client.query('select from tags where id = $1 for update', [a])
  const merges = [
    beginTagMerge(storage, systemActor(account), a, null, b),
    beginTagMerge(storage, systemActor(account), b, null, a),
  ]
  await waiting(2)
  assert.equal((await client.query('select from tags where id = $1 for update skip locked', [b])).rows.length, 1)
  await client.query('commit')
  const merged = await Promise.allSettled(merges)
  assert.equal(merged.filter((each) => each.status === 'fulfilled' && each.value).length, 1)
})

test('a merge locks links before their tags, so that an edit of a link does not wait for it', async (t) => {
  const { storage, client, account, link, waiting, a, b } = await open(t)
  await client.query('insert into link_tags (account_id, tag_id, link_id) values ($1, $2, $3)', [account, a, link])
  await client.query(`set deadlock_timeout = '10ms'`)
  assert.ok(await beginTagMerge(storage, systemActor(account), a, null, b))
  await client.query('begin')
  await client.query('select from links where id = $1 for update', [link])
  const merged = actionsOn(storage).jobs.run({ record: 'tag', record_id: a })
  await waiting(1)
  await client.query('delete from link_tags where link_id = $1', [link])
  await client.query('commit')
  await merged
  const { rows } = await client.query(
    'select (select count(*) from tags where account_id > 0) tags, (select count(*) from link_tags) tagged',
  )
  assert.deepEqual(rows, [{ tags: '1', tagged: '0' }])
})

test('bulk requests lock links in the order of ids, so that two of them do not wait for each other', async (t) => {
  const { storage, client, account, link, later, waiting } = await open(t)
  await client.query('begin')
  await client.query('select from links where id = $1 for update', [link])
  const locked = storage.write((tx) => lockLinks(tx, account, [later, link]))
  await waiting(1)
  assert.equal((await client.query('select from links where id = $1 for update skip locked', [later])).rows.length, 1)
  await client.query('commit')
  await locked
})

test('the return of a tag throws name_taken if another transaction stores its name meanwhile', async (t) => {
  const { storage, client, account, waiting, a } = await open(t)
  const actor = systemActor(account)
  const { actions, reversals } = actionsOn(storage)
  await actions.tags.remove(actor, a, {}, null)
  const [event] = await listRecordEvents(storage, account, { record: 'tag', id: a }, 1)
  await client.query('begin')
  await client.query(
    `insert into tags (account_id, name, name_folded, color, created_at, updated_at) values ($1, 'A', 'a', 1, '', '')`,
    [account],
  )
  const returning = reversals.undoEvent(actor, event?.id ?? 0)
  await Promise.all([assert.rejects(returning, { code: 'name_taken' }), waiting(1).then(() => client.query('commit'))])
})
