/** Requests that store links at the same time share a transaction, and nothing else. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { newDomain, twoNodes } from '../../test/links.ts'
import { execute } from '../../test/postgres.ts'
import { eventually } from '../../test/processes.ts'
import { type Actor, systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import type { Failure } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Storage, Transaction } from '../storage/port.ts'
import { openPostgres } from '../storage/postgres/open.ts'
import { CachedQuery, query } from '../storage/schema.ts'

/** Opens a storage that counts its transactions, in which `execute` runs each query. */
async function open(t: TestContext, execute = (tx: Transaction): Transaction['execute'] => tx.execute) {
  const { storage: real, account, domain } = await twoNodes((work) => t.after(work))
  const written: { count: number } = { count: 0 }
  const write: Storage['write'] = (work, isolation) => {
    written.count += 1
    return real.write((tx) => work({ ...tx, execute: execute(tx) }), isolation)
  }
  const storage = withMethods(real, { write })
  const { links } = actionsOn(storage).actions
  const store = async (actor: Actor, fields: Fields) =>
    (await links.insertion(actor, { url: 'https://acme.com', ...fields }))(storage)
  return { storage, account, domain, written, store }
}

const eventsOf = (account: number) =>
  query
    .selectFrom('events')
    .select(['record', 'record_name', 'batch_id', 'opens_batch', 'actor_name'])
    .where('account_id', '=', account)
    .orderBy('id')

test('stores the links of 20 requests in one transaction, each with the event and the batch of its request', async (t) => {
  const { storage, account, domain, written, store } = await open(t)
  const actors = Array.from({ length: 20 }, (_, n) => ({ ...systemActor(account), name: `Key ${n}` }))
  const tagsOf = (n: number) => (n % 10 === 0 ? { tags: [`Tag ${n}`, 'Common'] } : {})
  written.count = 0
  const stored = await Promise.all(actors.map((actor, n) => store(actor, { alias: `a${n}`, ...tagsOf(n) })))
  assert.equal(written.count, 1)
  assert.deepEqual(
    stored.map(({ record }) => [record.alias, record.domain_id, record.tags]),
    actors.map((_, n) => [`a${n}`, domain, n % 10 === 0 ? `Common,Tag ${n}` : null]),
  )
  const events = await storage.execute(eventsOf(account))
  for (const [n, { name, batchId }] of actors.entries()) {
    const own = events.filter(({ batch_id }) => batch_id === batchId)
    assert.ok(own.every(({ actor_name }) => actor_name === name))
    const [first, ...others] = own.map(({ opens_batch }) => opens_batch)
    assert.deepEqual([first, ...new Set(others)], n % 10 === 0 ? [1, null] : [1])
    assert.equal(own.at(-1)?.record_name, `go.acme.com/a${n}`)
  }
})

test('rejects each of several simultaneous requests by itself, and stores links of other accounts separately', async (t) => {
  const { storage, account, domain, written, store } = await open(t)
  const second = String(await newDomain(storage, account, 'b.example'))
  const { id: other } = await createAccount(storage, 'Other')
  await newDomain(storage, other, 'other.example')
  written.count = 0
  const [actor, theirs] = [systemActor(account), systemActor(other)]
  const results = await Promise.allSettled([
    ...['sale', 'SALE', 'fresh'].map((alias) => store(actor, { alias, domain_id: String(domain) })),
    store(actor, { alias: 'third', domain_id: String(domain), space_id: '999' }),
    store(actor, { alias: 'sale', domain_id: second }),
    store(theirs, { alias: 'sale' }),
    store(theirs, { alias: 'lost', domain_id: String(domain) }),
  ])
  const codes = results.map((result) => (result.status === 'rejected' ? (result.reason as Failure).code : null))
  assert.deepEqual(codes, [null, 'alias_taken', null, 'validation_failed', null, null, 'validation_failed'])
  assert.equal(written.count, 2)
})

test('an unexpected error of one request does not fail the others', async (t) => {
  const { store, account } = await open(t, ({ execute }) => async (statement) => {
    const isBroken = statement instanceof CachedQuery && statement.parameters.includes('broken')
    if (isBroken) throw new TypeError('broken')
    return execute(statement)
  })
  const actor = systemActor(account)
  const results = await Promise.allSettled(['a', 'broken', 'b'].map((alias) => store(actor, { alias })))
  const outcomes = results.map((result) =>
    result.status === 'fulfilled' ? result.value.record.alias : result.reason.message,
  )
  assert.deepEqual(outcomes, ['a', 'broken', 'b'])
})

test('stores the new tags of all requests in the order of their names, each for the first request that names it and may', async (t) => {
  const { storage, account, store } = await open(t)
  const actors = Array.from({ length: 4 }, (_, n) => ({ ...systemActor(account), name: `Key ${n}` }))
  const [reader] = actors as [Actor]
  actors[0] = { ...reader, scopes: ['links:write'] }
  const tags = [['Alpha'], ['zulu', 'Mike'], ['mike', 'alpha'], ['Bravo', 'Zulu']]
  const results = await Promise.allSettled(actors.map((actor, n) => store(actor, { tags: tags[n] ?? [] })))
  const shown = results.map((result) => (result.status === 'fulfilled' ? result.value.record.tags : result.reason.code))
  assert.deepEqual(shown, ['validation_failed', 'Mike,zulu', 'alpha,Mike', 'Bravo,zulu'])
  const stored = query.selectFrom('tags').select('name').orderBy('id')
  assert.deepEqual(
    (await storage.execute(stored)).map(({ name }) => name),
    ['alpha', 'Bravo', 'Mike', 'zulu'],
  )
  const events = (await storage.execute(eventsOf(account))).filter(({ record }) => record === 'tag')
  assert.deepEqual(
    events.map(({ record_name, actor_name }) => [record_name, actor_name]),
    [
      ['alpha', 'Key 2'],
      ['Bravo', 'Key 3'],
      ['Mike', 'Key 1'],
      ['zulu', 'Key 1'],
    ],
  )
})

for (const limit of ['lock_timeout', 'statement_timeout']) {
  test(`a link that waits for another PostgreSQL transaction until the ${limit} does not fail the others`, async (t) => {
    const { storage, account, domain } = await twoNodes((work) => t.after(work), 'postgres')
    const { location } = storage
    assert.equal(location.engine, 'postgres')
    const url = new URL(location.url)
    url.searchParams.set(limit, '500')
    const limited = await openPostgres(url.href, 8)
    t.after(() => limited.close())
    const actor = systemActor(account)
    const [holder, locked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // Only the address: a link would also hold a part of the total of links, which one of 16 connections shares.
    const address = { account_id: account, link_id: 0, domain_id: domain, alias: 'held', alias_folded: 'held' }
    const row = { ...address, exact: 0, legacy: 0, main: 1, clicks: 0, created_at: new Date().toISOString() }
    const held = storage.write(async (tx) => {
      await tx.execute(query.insertInto('addresses').values(row))
      locked.resolve()
      await holder.promise
      throw new Error('rolled back')
    })
    await locked.promise
    const { links } = actionsOn(limited).actions
    const store = async (alias: string) => (await links.insertion(actor, { url: 'https://acme.com', alias }))(limited)
    const first = ['a', 'b', 'held', 'c', 'd'].map(store)
    const isBatchRunning = async () => {
      const [{ count } = { count: 0 }] = await execute(location.url, waitingForLocks)
      return Number(count) > 0
    }
    t.after(() => holder.resolve())
    await eventually(isBatchRunning)
    const results = await Promise.allSettled([...first, ...['e', 'f', 'g'].map(store)])
    holder.resolve()
    await assert.rejects(held, { message: 'rolled back' })
    const outcomes = results.map((result) =>
      result.status === 'fulfilled' ? result.value.record.alias : result.reason.code,
    )
    assert.deepEqual(outcomes, ['a', 'b', 'database_unavailable', 'c', 'd', 'e', 'f', 'g'])
  })
}

const waitingForLocks = `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
