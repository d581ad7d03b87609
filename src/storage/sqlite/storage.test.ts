import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../../test/actions.ts'
import { firstPage } from '../../../test/first-page.ts'
import { damage } from '../../../test/lists-model.ts'
import { eventually, newFolder } from '../../../test/processes.ts'
import { systemActor } from '../../access/actor.ts'
import { createAccount } from '../../accounts/store.ts'
import { Failure } from '../../errors.ts'
import { changeSpace, insertSpace, spaceRecords } from '../../spaces/store.ts'
import type { Storage } from '../port.ts'
import { openSqlite } from './open.ts'

interface Fixture {
  readonly storage: Storage
  readonly account: number
  /** A connection like that of another process. */
  readonly other: DatabaseSync
}

async function open(t: TestContext): Promise<Fixture> {
  const path = join(newFolder(t), 'test.db')
  const storage = await openSqlite(path)
  const other = new DatabaseSync(path)
  t.after(async () => {
    await storage.close()
    other.close()
  })
  return { storage, account: (await createAccount(storage, 'Acme')).id, other }
}

const pendingIn = (other: DatabaseSync) => Number(other.prepare('select count(*) as n from search_changes').get()?.n)

test('indexes stored, renamed and deleted records, and reports errors', async (t) => {
  const { storage, account, other } = await open(t)
  const totalOf = async (search: string) =>
    (await spaceRecords.list(storage, account, { ...firstPage, search: [search] })).total
  const { promise: problem, resolve } = Promise.withResolvers<unknown>()
  other.exec(`create trigger fault before delete on search_changes begin select raise(rollback, 'not now'); end`)
  storage.start(resolve)
  const [first, second] = await Promise.all(
    ['Shop 1', 'Shop 2', 'Shop 3'].map((name) => insertSpace(storage, systemActor(account), { name, color: 1 })),
  )
  assert.match(String(await problem), /The search index lacks new records: .*not now/)
  assert.equal(await totalOf('shop'), 3)

  other.exec('drop trigger fault')
  await eventually(() => pendingIn(other) === 0)
  assert.equal(await totalOf('shop'), 3)
  await actionsOn(storage).actions.spaces.remove(systemActor(account), Number(first?.record.id), {}, null)
  await changeSpace(storage, systemActor(account), Number(second?.record.id), { name: 'Market' }, null)
  for (const isIndexed of [false, true]) {
    if (isIndexed) await eventually(() => pendingIn(other) === 0)
    assert.deepEqual([await totalOf('shop'), await totalOf('market')], [1, 1])
  }
})

test('checkpoints the log on a thread, even if that thread cannot index', async (t) => {
  const { storage, account, other } = await open(t)
  other.exec(`create trigger fault before delete on search_changes begin select raise(rollback, 'not now'); end`)
  const log = () => {
    const [row] = other.prepare('pragma wal_checkpoint(noop)').all()
    return { pages: Number(row?.log), done: Number(row?.checkpointed) }
  }
  for (let n = 0; n < 40; n++) await createAccount(storage, 'x'.repeat(100_000))
  await insertSpace(storage, systemActor(account), { name: 'Sales', color: 1 })
  const { pages, done } = log()
  assert.ok(pages - done >= 900, 'commits have run a checkpoint')
  storage.start(() => undefined)
  await eventually(() => log().pages - log().done < 500)
})

test('starts without a thread that cannot be started, and reports the error', async (t) => {
  const { storage } = await open(t)
  await storage.close()
  const problems: unknown[] = []
  storage.start((error) => problems.push(error))
  assert.equal((problems[0] as Failure).code, 'database_unavailable')
})

test('throws database_corrupt after a search thread has read a damaged page', async (t) => {
  const path = join(newFolder(t), 'test.db')
  const first = await openSqlite(path)
  const { id: account } = await createAccount(first, 'Acme')
  await insertSpace(first, systemActor(account), { name: 'A name on a page', color: 1 })
  await first.close()
  damage(path, 'A name on a page')
  const storage = await openSqlite(path)
  t.after(() => storage.close())
  assert.equal(await storage.condition(), 'ok')
  const expected = (error: unknown) => error instanceof Failure && error.facts.reason === 'database_corrupt'
  await assert.rejects(spaceRecords.list(storage, account, { ...firstPage, search: ['name'] }), expected)
  await assert.rejects(storage.condition(), expected)
})

test('throws database_unavailable if the database file was deleted', async (t) => {
  const { storage, other } = await open(t)
  await storage.condition()
  rmSync(String(other.location()))
  await assert.rejects(storage.condition(), { code: 'database_unavailable' })
})
