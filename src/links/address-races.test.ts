/** Concurrent changes of addresses on PostgreSQL, and their way to the redirect servers of other nodes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { actionsOn as allActionsOn } from '../../test/actions.ts'
import { insertLink, linkRules, newDomain, newLink, plainLink, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { Directory } from '../redirect/directory.ts'
import type { ServedDomain } from '../redirect/store.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { LinkActions } from './actions.ts'
import { AddressActions } from './address-actions.ts'
import { type BatchChange, runBatch } from './batch.ts'
import { changeLink } from './batch-changes.ts'
import { deleteLinks } from './deletion.ts'
import { restoreLinks } from './reversal.ts'
import { type NewLink, storeLink } from './schema.ts'

function actionsOn(storage: Storage) {
  const links = new LinkActions(storage, {
    shortUrl: (domain, alias) => `https://${domain}/${alias}`,
    urlSchemes: [],
    hashPassword: async () => '',
    onChange: () => undefined,
    flush: async () => undefined,
    deleteLinks,
    erase: async () => undefined,
  })
  return { links, addresses: new AddressActions(storage, links) }
}

/** Opens two nodes, and returns ways to store an address, each on a node of its own. */
async function open(t: TestContext, engine?: 'sqlite' | 'postgres') {
  const place = await twoNodes((work) => t.after(work), engine)
  const { storage, other, account, domain } = place
  const actor = systemActor(account)
  const [here, there] = [actionsOn(storage), actionsOn(other)]
  const link = (alias: string) => newLink(storage, place, alias)
  const storeMain = (alias: string, exact = false) =>
    insertLink(other, actor, { id: domain, name: 'go.acme.com' }, { ...plainLink, alias, exact })
  const add = (to: number, alias: string, exact = false) =>
    here.addresses.insertion(actor, to, { alias, exact: String(exact), domain_id: String(domain) })(storage)
  const storeMany = async (alias: string, exact = false) => {
    const rows = [
      storeLink.check({ url: 'https://acme.com', alias, domain_id: String(domain), exact: String(exact) }) as NewLink,
    ]
    const request = { actor, change: { kind: 'store', rows }, isAtomic: true, claim: null, hasResults: false } as const
    return runBatch(other, request, there.links.rules)
  }
  const rename = (id: number, alias: string, exact = false) =>
    there.links.change(actor, id, { alias, exact: String(exact), keep_address: 'true' }, null)
  return { ...place, actor, link, storeMain, storeMany, add, rename, addresses: here.addresses }
}

async function deadlocks(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('select deadlocks from pg_stat_database where datname = current_database()')
  await client.end()
  return Number(rows[0].deadlocks)
}

test('stores an address once on PostgreSQL, whatever two transactions store it as, without a deadlock', async (t) => {
  const { storage, link, storeMain, storeMany, add, rename } = await open(t, 'postgres')
  const { location } = storage
  assert.equal(location.engine, 'postgres')
  const before = await deadlocks(location.url)
  for (let round = 0; round < 12; round += 1) {
    const [one, two] = [await link(`one-${round}`), await link(`two-${round}`)]
    for (const [n, [isExact, isOtherExact]] of [
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ].entries()) {
      for (const [way, rival] of [
        storeMain,
        storeMany,
        (...given: Parameters<typeof storeMain>) => rename(two, ...given),
      ].entries()) {
        const alias = `Both-${round}-${n}-${way}`
        const results = await Promise.allSettled([add(one, alias, isExact), rival(alias, isOtherExact)])
        const failed = results.filter((result) => result.status === 'rejected')
        assert.equal(failed.length, 1, `${alias} ${isExact} ${isOtherExact}`)
        const { reason } = failed[0] as PromiseRejectedResult
        assert.ok(reason instanceof Failure && /alias_taken|bulk_rejected/.test(reason.code), String(reason))
      }
    }
  }
  assert.equal(await deadlocks(location.url), before)
})

test('stores as many of 20 clashing addresses as the rule allows, at the same time on two PostgreSQL nodes', async (t) => {
  const { storage, other, actor, domain } = await open(t, 'postgres')
  const { location } = storage
  assert.equal(location.engine, 'postgres')
  const before = await deadlocks(location.url)
  const storeOn = (db: Storage) => {
    const { links } = actionsOn(db)
    return async (fields: Fields) => (await links.insertion(actor, { url: 'https://acme.com', ...fields }))(db)
  }
  const nodes = [storeOn(storage), storeOn(other)] as const
  const spellings = ['sale', 'Sale', 'SALE']
  const same = [{ alias: 'sale', exact: false }]
  const otherCase = spellings.map((alias) => ({ alias, exact: false }))
  const both = [...spellings.map((alias) => ({ alias, exact: true })), ...same]
  const cases = [same, otherCase, both]
  for (const [n, [addresses, allowed]] of [cases, cases]
    .flat()
    .map((each) => [each, each === both ? 3 : 1] as const)
    .entries()) {
    const stores = Array.from({ length: 20 }, (_, at) => {
      const { alias, exact } = addresses[at % addresses.length] as (typeof same)[0]
      const store = at % 3 === 0 ? nodes[0] : nodes[1]
      return store({ alias: `${alias}-${n}`, exact: String(exact), domain_id: String(domain) })
    })
    const results = await Promise.allSettled(stores)
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    assert.deepEqual(new Set(reasons.map(({ code }) => code)), new Set(['alias_taken']), String(reasons))
    assert.equal(results.length - reasons.length, allowed)
  }
  assert.equal(await deadlocks(location.url), before)
})

test('stores each of 200 aliases once for two bulk requests with opposite orders on two PostgreSQL nodes, without a deadlock', async (t) => {
  const { storage, other, actor, account, domain } = await open(t, 'postgres')
  const { location } = storage
  assert.equal(location.engine, 'postgres')
  const before = await deadlocks(location.url)
  for (let round = 0; round < 5; round += 1) {
    const aliases = Array.from({ length: 200 }, (_, n) => `r${round}-${n}`)
    const store = (db: Storage, some: readonly string[]) => {
      const rows = some.map((alias) => ({ ...plainLink, alias, domain_id: domain }))
      const change = { kind: 'store', rows } as const
      const request = { actor, change, isAtomic: false, claim: null, hasResults: false }
      return runBatch(db, request, actionsOn(db).links.rules)
    }
    const answers = await Promise.all([
      store(storage, aliases),
      store(other, aliases.map((alias) => alias.toUpperCase()).reverse()),
    ])
    assert.equal(
      answers.reduce((sum, { changed }) => sum + changed, 0),
      200,
    )
    const stored = query.selectFrom('addresses').select('alias_folded').where('account_id', '=', account)
    const found = await storage.execute(stored.where('alias_folded', 'like', `r${round}-%`))
    assert.deepEqual(found.map(({ alias_folded }) => alias_folded).sort(), aliases.sort())
  }
  assert.equal(await deadlocks(location.url), before)
})

test('moves links between two domains in both directions on PostgreSQL without a deadlock', async (t) => {
  const { storage, other, actor, account, domain, link } = await open(t, 'postgres')
  const { location } = storage
  assert.equal(location.engine, 'postgres')
  const before = await deadlocks(location.url)
  const second = await newDomain(storage, account, 'b.example')
  const ids = [await link('a'), await link('b')]
  const move = (db: Storage, id: number, domain_id: number) => {
    const change = { kind: 'update', ids: [id], values: { domain_id, keep_address: true } } as const
    const request = { actor, change, isAtomic: false, claim: null, hasResults: false }
    return runBatch(db, request, actionsOn(db).links.rules)
  }
  await move(storage, ids[1] as number, second)
  for (let round = 0; round < 30; round += 1) {
    const [to, from] = round % 2 === 0 ? [second, domain] : [domain, second]
    const moved = await Promise.all([move(storage, ids[0] as number, to), move(other, ids[1] as number, from)])
    assert.deepEqual(
      moved.map(({ applied }) => applied.length),
      [1, 1],
    )
  }
  assert.equal(await deadlocks(location.url), before)
})

test('undoes the move of 50 links while another PostgreSQL node stores their aliases, without a deadlock', async (t) => {
  const { storage, other, actor, account, domain } = await open(t, 'postgres')
  const { location } = storage
  assert.equal(location.engine, 'postgres')
  const before = await deadlocks(location.url)
  const second = await newDomain(storage, account, 'b.example')
  const { reversals } = allActionsOn(storage)
  const run = (db: Storage, change: BatchChange, by = actor) =>
    runBatch(db, { actor: by, change, isAtomic: false, claim: null, hasResults: false }, linkRules)
  for (let round = 0; round < 4; round += 1) {
    const aliases = Array.from({ length: 50 }, (_, n) => `r${round}-${n}`)
    const rows = aliases.map((alias) => ({ ...plainLink, alias, domain_id: domain }))
    const ids = (await run(storage, { kind: 'store', rows })).applied.map(({ id }) => id)
    const mover = systemActor(account)
    await run(storage, { kind: 'update', ids, values: { domain_id: second, keep_address: false } }, mover)
    const undone = Array.fromAsync(reversals.undoBatch(actor, mover.batchId))
    const [results, { changed }] = await Promise.all([undone, run(other, { kind: 'store', rows: rows.toReversed() })])
    const returned = results.flat().filter(({ failure }) => failure === null)
    assert.equal(returned.length + changed, aliases.length)
  }
  assert.equal(await deadlocks(location.url), before)
})

test('refuses links on two PostgreSQL nodes that want each other’s alias, without a deadlock', async (t) => {
  const { storage, other, actor, link } = await open(t, 'postgres')
  const { location } = storage
  assert.equal(location.engine, 'postgres')
  const before = await deadlocks(location.url)
  for (let round = 0; round < 30; round += 1) {
    const aliases = [`one-${round}`, `two-${round}`] as const
    const ids = [await link(aliases[0]), await link(aliases[1])] as const
    const rename = (db: Storage, id: number, alias: string) => actionsOn(db).links.change(actor, id, { alias }, null)
    const results = await Promise.allSettled([rename(storage, ids[0], aliases[1]), rename(other, ids[1], aliases[0])])
    for (const result of results) {
      assert.ok(result.status === 'rejected' && result.reason.code === 'alias_taken', JSON.stringify(result))
    }
  }
  assert.equal(await deadlocks(location.url), before)
})

test('changes no link that another PostgreSQL node restores while the change waits for its lock', async (t) => {
  const { storage, other, actor, account, link } = await open(t, 'postgres')
  const id = await link('sale')
  await storage.write((tx) => deleteLinks(tx, actor, [id], { isPermanent: false, removedDomain: null }))
  const events = query.selectFrom('events').select('kept').where('record_id', '=', id).where('action', '=', 'deleted')
  const [event] = await storage.execute(events)
  const restore = () => other.write((tx) => restoreLinks(tx, actor, [JSON.parse(event?.kept ?? '')]))
  const { rules } = actionsOn(storage).links
  const change = storage.write((tx) => {
    let restored: Promise<unknown> | undefined
    const execute: typeof tx.execute = async (statement) => {
      const rows = await tx.execute(statement)
      restored ??= restore()
      await restored
      return rows
    }
    return changeLink({ ...tx, execute }, actor, id, { values: { alias: 'other' } }, rules)
  })
  await assert.rejects(change, { code: 'not_found' })
  const addresses = query.selectFrom('addresses').select('alias').where('account_id', '=', account)
  assert.deepEqual(await storage.execute(addresses), [{ alias: 'sale' }])
})

test('an exact address that one node stores hides the other spelling on another node within a second, until it is deleted', async (t) => {
  const { storage, other, actor, link, add, addresses } = await open(t)
  const directory = new Directory(other, { staleForMs: 60_000, onProblem: (error) => assert.fail(String(error)) })
  t.after(() => directory.close())
  await directory.start()
  const served = directory.domainNamed('go.acme.com') as ServedDomain
  const found = async (alias: string) => (await directory.findLink(served, alias))?.id
  const [common, exact] = [await link('sale'), await link('other')]
  assert.deepEqual([await found('Sale'), await found('SALE')], [common, common])
  const start = performance.now()
  const { id } = await add(exact, 'Sale', true)
  await eventually(async () => (await found('Sale')) === exact)
  assert.ok(performance.now() - start < 1_000)
  assert.deepEqual([await found('SALE'), await found('sale')], [common, common])
  await addresses.remove(actor, exact, id)
  await eventually(async () => (await found('Sale')) === common)
  const domain = await newDomain(storage, actor.account, 'b.example')
  await insertLink(storage, actor, { id: domain, name: 'b.example' }, { ...plainLink, alias: 'x', exact: true })
  await eventually(async () => directory.domainNamed('b.example') !== undefined)
  const b = directory.domainNamed('b.example') as ServedDomain
  assert.deepEqual(
    [(await directory.findLink(b, 'X'))?.id, (await directory.findLink(b, 'x')) !== null],
    [undefined, true],
  )
})
