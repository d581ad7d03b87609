import assert from 'node:assert/strict'
import crypto, { randomUUID } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { InsertQueryNode } from 'kysely'
import { actionsOn } from '../../test/actions.ts'
import { newStorage } from '../../test/engine.ts'
import { fillLinks, insertLink, linkRules, newLink, plainLink, twoNodes } from '../../test/links.ts'
import { runs } from '../../test/runs.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { findByShortLink } from '../analytics/transfer-store.ts'
import { insertDomain } from '../domains/store.ts'
import { Failure } from '../errors.ts'
import { findServedLink } from '../redirect/store.ts'
import { insertSpace } from '../spaces/store.ts'
import { countedMatches, type Db, type Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { compiledForSqlite } from '../storage/sqlite/group-commit.ts'
import { beginTagMerge, findTagByName } from '../tags/store.ts'
import { runBatch } from './batch.ts'
import { changeLink } from './batch-changes.ts'
import { tagsOf } from './schema.ts'
import { addressesWith } from './spellings.ts'
import { countLinksIn, findLink, findLinkForUpdate, findLinksByAlias, linksAfter } from './store.ts'

const noUrls = { homepage_url: null, not_found_url: null }

const storage = await newStorage(after)
let made = 0

async function newDomain() {
  made += 1
  const name = `go${made}.example`
  const account = (await createAccount(storage, 'Acme')).id
  const { record } = await insertDomain(storage, systemActor(account), { name, nameUnicode: name }, noUrls)
  return { account, domain: record }
}

/** The same storage, but with the aliases of the first links to be stored taken. Records all aliases. */
function clashing(real: Db, clashes: number) {
  const tried: string[] = []
  const clashingIn = (db: Db): Db => ({
    execute: (asked) => {
      const node = asked.toOperationNode()
      const isInsertion = InsertQueryNode.is(node) && node.into?.table.identifier.name === 'addresses'
      const at = isInsertion ? node.columns?.findIndex(({ column }) => column.name === 'alias') : undefined
      if (at === undefined || at < 0) return db.execute(asked)
      tried.push(String(asked.compile().parameters[at]))
      return tried.length <= clashes ? Promise.resolve([]) : db.execute(asked)
    },
    write: (work) => db.write((tx) => work({ ...clashingIn(tx), newIds: tx.newIds })),
  })
  return { db: clashingIn(real), tried }
}

test('generates another alias while aliases are taken, and longer ones after three', async () => {
  const { account, domain } = await newDomain()
  const { db, tried } = clashing(storage, 7)
  const { record } = await insertLink(db, systemActor(account), domain, { ...plainLink, alias: null })
  assert.deepEqual(
    tried.map(({ length }) => length),
    [7, 7, 7, 8, 8, 8, 9, 9],
  )
  assert.equal(new Set(tried).size, 8)
  assert.equal(record.alias, tried.at(-1))
  assert.deepEqual((await findLink(storage, account, record.id))?.record, record)
})

test('the first row of a batch gets an address, and a row whose generated alias it has gets another', async (t) => {
  const { account, domain } = await newDomain()
  const { randomInt } = crypto
  let asked = 0
  // Four equal aliases: those of the first three rows without one, and the next of the second of these.
  t.mock.method(crypto, 'randomInt', (max: number) => (asked++ < 28 ? 0 : randomInt(max)))
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const aliases = [null, 'Sale', null, 'sale', null, 'SALE']
  const rows = aliases.map((alias) => ({ ...plainLink, alias, domain_id: domain.id }))
  const { body } = await runBatch(
    storage,
    {
      ...{ actor: systemActor(account), change: { kind: 'store', rows } },
      ...{ isAtomic: false, claim: null, hasResults: true },
    },
    linkRules,
  )
  const results = JSON.parse(new TextDecoder().decode(body)).data as { status: number; data?: { alias: string } }[]
  assert.deepEqual(
    results.map(({ status }) => status),
    [201, 201, 201, 409, 201, 409],
  )
  const stored = results.flatMap(({ data }) => data?.alias ?? [])
  assert.deepEqual([stored[0], stored[1], new Set(stored).size], ['2222222', 'Sale', 4])
  assert.deepEqual((await linksAfter(storage, account, 0, 10)).map(({ alias }) => alias).sort(), stored.sort())
})

test('a link with invalid values uses no id', async () => {
  const { account, domain } = await newDomain()
  const first = await insertLink(storage, systemActor(account), domain, { ...plainLink, alias: 'one' })
  const refused = [
    insertLink(storage, systemActor(account), { ...domain, id: 999 }, { ...plainLink, alias: 'two' }),
    insertLink(storage, systemActor(account), domain, { ...plainLink, alias: 'three', space_id: 999 }),
    insertLink(storage, systemActor(account + 1), domain, { ...plainLink, alias: 'four' }),
  ]
  const codes = (await Promise.allSettled(refused)).map((each) => each.status === 'rejected' && each.reason.code)
  assert.deepEqual(codes, ['validation_failed', 'validation_failed', 'validation_failed'])
  const next = await insertLink(storage, systemActor(account), domain, { ...plainLink, alias: 'two' })
  assert.equal(next.record.id, first.record.id + 1)
})

test('stores given clicks and times, and finds a link by its alias in any case, only in its account', async () => {
  const { account, domain } = await newDomain()
  const past = {
    ...{ clicks: 7, last_clicked_ms: Date.parse('2020-01-02T00:00:00.000Z') },
    ...{ created_at: '2020-01-01T00:00:00.000Z', updated_at: '2020-01-01T00:00:00.000Z' },
  }
  const { record } = await insertLink(
    storage,
    systemActor(account),
    domain,
    { ...plainLink, alias: 'Älter', clicks_limit: 7 },
    { ...past, bots: 0, previews: 0 },
  )
  assert.deepEqual(record, { ...record, ...past })
  assert.deepEqual(await findLinksByAlias(storage, account, 'A\u0308LTER', domain.id), [record])
  assert.deepEqual(await findLinksByAlias(storage, account + 1, 'Älter', domain.id), [])
  assert.deepEqual(
    (await linksAfter(storage, account, 0, 10)).map(({ id }) => id),
    [record.id],
  )
  assert.deepEqual(await linksAfter(storage, account, record.id, 10), [])
  assert.deepEqual(await linksAfter(storage, account + 1, 0, 10), [])
})

test('counts the links of an account by domain and by space, up to 10,001 each', async () => {
  const { account, domain } = await newDomain()
  const none = await newDomain()
  const { record: space } = await insertSpace(storage, systemActor(account), { name: 'Sales', color: 1 })
  for (let first = 1; first < countedMatches; first += 2_000)
    await fillLinks(storage, { account, domain: domain.id }, first, 2_000)
  await insertLink(storage, systemActor(account), domain, { ...plainLink, alias: 'sale', space_id: space.id })
  await insertLink(storage, systemActor(account), domain, { ...plainLink, alias: 'print', space_id: space.id })
  const empty = (await insertDomain(storage, systemActor(account), { name: 'empty.example', nameUnicode: '' }, noUrls))
    .record
  const inDomains = (owner: number) => countLinksIn(storage, owner, 'domain_id', [domain.id, empty.id, 99_999])
  assert.deepEqual([...(await inDomains(account))].sort(), [
    [domain.id, countedMatches + 1],
    [empty.id, 0],
  ])
  assert.deepEqual([...(await countLinksIn(storage, account, 'space_id', [space.id]))], [[space.id, 2]])
  assert.equal((await inDomains(none.account)).size, 0)
})

test('no tag is lost and none stays half removed while two nodes tag links and merge tags', async () => {
  const names = ['a', 'b', 'c', 'd'] as const
  const name = fc.constantFrom(...names)
  const step = fc.oneof(
    fc.record({ node: fc.nat(1), link: fc.nat(2), add: name }),
    fc.record({ node: fc.nat(1), from: name, into: name }),
  )
  const { storage, other, account, domain } = await twoNodes(after)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      const links: number[] = []
      for (let n = 0; n < 3; n++) links.push(await newLink(storage, { account, domain }, randomUUID()))
      const merged: (readonly [from: string, into: string])[] = []
      const merge = async (db: Storage, from: string, into: string) => {
        const [tag, target] = [await findTagByName(db, account, from), await findTagByName(db, account, into)]
        if (tag === undefined || target === undefined || tag.id === target.id) return
        merged.push([from, into])
        await beginTagMerge(db, systemActor(account), tag.id, null, target.id)
        await actionsOn(db).jobs.run({ record: 'tag', record_id: tag.id })
      }
      const results = await Promise.allSettled(
        steps.map((each) => {
          const db = each.node === 0 ? storage : other
          if ('from' in each) return merge(db, each.from, each.into)
          const id = links[each.link] as number
          return db.write(async (tx) => {
            const link = await findLinkForUpdate(tx, account, id)
            assert.ok(link)
            await changeLink(
              tx,
              systemActor(account),
              id,
              { values: {}, tags: { add: [each.add], remove: [] } },
              linkRules,
            )
          })
        }),
      )
      // The other node has merged the target first.
      const errors = results.filter((each) => each.status === 'rejected').map(({ reason }) => reason)
      for (const error of errors) assert.ok(error instanceof Failure && error.code === 'validation_failed', error)
      /** Returns the names that a name may have got by merges. */
      const targetsOf = (of: string): Set<string> => {
        const found = new Set([of])
        for (const each of found) for (const [from, into] of merged) if (from === each) found.add(into)
        return found
      }
      for (const [n, id] of links.entries()) {
        const added = steps.flatMap((each) => ('add' in each && each.link === n ? [targetsOf(each.add)] : []))
        const tags = tagsOf((await findLink(other, account, id))?.record ?? assert.fail())
        assert.ok(added.every((targets) => tags.some((tag) => targets.has(tag))))
        assert.ok(tags.every((tag) => added.some((targets) => targets.has(tag))))
      }
      // Merged tags stay for a minute, without links.
      const removed = query.selectFrom('tags').select('id').where('account_id', '=', 0)
      const left = query.selectFrom('link_tags').select('link_id').where('tag_id', 'in', removed)
      assert.deepEqual(await storage.execute(left), [])
    }),
    { numRuns: runs(10) },
  )
})

test('finds an address on a domain by an index of aliases', async (t) => {
  const { location } = await newStorage((work) => t.after(work), 'sqlite')
  assert(location.engine === 'sqlite')
  using database = new DatabaseSync(location.path)
  const plans: string[] = []
  const explaining: Db = {
    execute: async (asked) => {
      const plan = database.prepare(`explain query plan ${compiledForSqlite(asked).sql}`).all()
      plans.push(...plan.map(({ detail }) => String(detail)).filter((detail) => /^SEARCH addresses/.test(detail)))
      return []
    },
    write: () => assert.fail(),
  }
  await findLinksByAlias(explaining, 1, 'Sale', 1)
  await findLinksByAlias(explaining, 1, 'Sale', null)
  await findByShortLink(explaining, 1, 'go.acme.com/Sale')
  await findServedLink(explaining, 1, 'Sale')
  await addressesWith(explaining, 1, 1, ['sale', 'offer'])
  assert.equal(plans.length, 10)
  for (const plan of plans) assert.match(plan, /\(domain_id=\? AND alias(_folded)?=\?\)$/)
})
