import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { InsertQueryNode } from 'kysely'
import { newStorage } from '../../test/engine.ts'
import { plainLink } from '../../test/links.ts'
import { createAccount } from '../accounts/store.ts'
import { insertDomain } from '../domains/store.ts'
import { Failure, ForeignKeyViolation } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { isRead } from '../storage/schema.ts'
import { findLink, findLinksByAlias, insertLink, linksAfter } from './store.ts'

const noUrls = { homepage_url: null, not_found_url: null }

const storage = await newStorage(after)
let made = 0

async function newDomain() {
  made += 1
  const name = `go${made}.example`
  const account = (await createAccount(storage, 'Acme')).id
  const { record } = await insertDomain(storage, account, { name, nameUnicode: name }, noUrls)
  return { account, domain: record }
}

/** The same storage, but with the aliases of the first links to be stored taken. Records all aliases. */
function clashing(real: Db, clashes: number) {
  const tried: string[] = []
  const db: Db = {
    execute: (asked) => {
      const node = asked.toOperationNode()
      if (!InsertQueryNode.is(node)) return real.execute(asked)
      const at = node.columns?.findIndex(({ column }) => column.name === 'alias') ?? -1
      tried.push(String(asked.compile().parameters[at]))
      return tried.length <= clashes ? Promise.resolve([]) : real.execute(asked)
    },
    write: real.write.bind(real),
  }
  return { db, tried }
}

test('generates another alias while aliases are taken, and longer ones after three', async () => {
  const { account, domain } = await newDomain()
  const { db, tried } = clashing(storage, 7)
  const { record } = await insertLink(db, account, domain, { ...plainLink, alias: null })
  assert.deepEqual(
    tried.map(({ length }) => length),
    [7, 7, 7, 8, 8, 8, 9, 9],
  )
  assert.equal(new Set(tried).size, 8)
  assert.equal(record.alias, tried.at(-1))
  assert.deepEqual((await findLink(storage, account, record.id))?.record, record)
})

test('a rejected link uses no id', async () => {
  const { account, domain } = await newDomain()
  const first = await insertLink(storage, account, domain, { ...plainLink, alias: 'one' })
  const refused = [
    insertLink(storage, account, domain, { ...plainLink, alias: 'ONE' }),
    insertLink(storage, account, { ...domain, id: 999 }, { ...plainLink, alias: 'two' }),
    insertLink(storage, account, domain, { ...plainLink, alias: 'three', space_id: 999 }),
    insertLink(storage, account + 1, domain, { ...plainLink, alias: 'four' }),
  ]
  const codes = (await Promise.allSettled(refused)).map((each) => each.status === 'rejected' && each.reason.code)
  assert.deepEqual(codes, ['alias_taken', 'validation_failed', 'validation_failed', 'validation_failed'])
  const next = await insertLink(storage, account, domain, { ...plainLink, alias: 'two' })
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
    account,
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

test('a domain or a space that another request deletes at the same time is unknown', async () => {
  const { account, domain } = await newDomain()
  const failingOn = (constraint: string | null): Db => ({
    execute: (asked) =>
      isRead(asked.toOperationNode())
        ? storage.execute(asked)
        : Promise.reject(new ForeignKeyViolation(constraint, new Error('gone'))),
    write: storage.write.bind(storage),
  })
  const refusal = (constraint: string | null, space_id: number | null) =>
    insertLink(failingOn(constraint), account, domain, { ...plainLink, space_id, alias: 'a' }).catch((error) => error)
  assert.deepEqual(violationsOf(await refusal('links_domain_id_fkey', 3)), ['unknown_domain'])
  assert.deepEqual(violationsOf(await refusal('links_space_id_fkey', 3)), ['unknown_space'])
  assert.deepEqual(violationsOf(await refusal(null, null)), ['unknown_domain'])
})

function violationsOf(error: unknown): unknown[] {
  assert.ok(error instanceof Failure)
  return (error.facts.violations ?? []).map(({ code }) => code)
}
