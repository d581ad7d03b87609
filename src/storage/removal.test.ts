/** Removals in steps, on both engines, with tables that are made up: tunes refer to albums, and so may covers. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { newLocation } from '../../test/engine.ts'
import { execute } from '../../test/postgres.ts'
import { ForeignKeyViolation } from '../errors.ts'
import { openStorage } from './open.ts'
import type { Db, Storage } from './port.ts'
import { detachBatchSize, finishRemoval, finishRemovals, type Removal } from './removal.ts'
import { type Query, query } from './schema.ts'

type Tables = {
  albums: { id: number; account_id: number }
  tunes: { id: number; album_id: number }
}
const made = query.withTables<Tables>()

/** The purpose of each query that `removal` has built. */
const purposes = new WeakMap<object, keyof Removal>()

function noted<Row>(purpose: keyof Removal, asked: Query<Row>): Query<Row> {
  purposes.set(asked, purpose)
  return asked
}

const albums = made.selectFrom('albums').select('id').orderBy('id')
const tunes = made.selectFrom('tunes').select('id').orderBy('id')
const removal: Removal = {
  detachLinks: (id) => {
    const some = made.selectFrom('tunes').select('id').where('album_id', '=', id).limit(detachBatchSize)
    return noted('detachLinks', made.deleteFrom('tunes').where('id', 'in', some).returning('id'))
  },
  selectLink: (id) => tunes.where('album_id', '=', id).limit(1),
  deleteRemoved: (id) =>
    noted('deleteRemoved', made.deleteFrom('albums').where('id', '=', id).where('account_id', '=', 0).returning('id')),
  selectRemoved: () => albums.where('account_id', '=', 0),
}
const removeThird = made.updateTable('albums').set({ account_id: 0 }).where('id', '=', 3)

/** Albums 1 and 2 are in account 0, album 3 is not; each has as many tunes. */
async function open(t: TestContext, count: number): Promise<Storage> {
  const location = await newLocation((work) => t.after(work))
  const storage = await openStorage(location)
  t.after(() => storage.close())
  const text = `create table albums (id integer primary key, account_id integer not null);
    create table tunes (id integer primary key, album_id integer not null references albums (id));
    create table covers (album_id integer not null references albums (id));
    insert into albums values (1, 0), (2, 0), (3, 7);
    insert into tunes with recursive n (n) as (select 1 union all select n + 1 from n where n < ${3 * count})
      select n, 1 + n % 3 from n where ${count} > 0;
    insert into covers values (3)`
  if (location.engine === 'postgres') await execute(location.url, text)
  else {
    const database = new DatabaseSync(location.path)
    database.exec(text)
    database.close()
  }
  return storage
}

const idsOf = async (db: Db, of: typeof albums | typeof tunes) => (await db.execute(of)).map(({ id }) => id)

/** The same storage, and the size of each batch; `before` runs before it. */
function watched(real: Storage, before: (batch: number) => unknown = () => undefined) {
  const portions: number[] = []
  const execute: Db['execute'] = async (asked) => {
    const isBatch = purposes.get(asked) === 'detachLinks'
    if (isBatch) await before(portions.length)
    const rows = await real.execute(asked)
    if (isBatch) portions.push(rows.length)
    return rows
  }
  const db: Db = {
    execute,
    write: real.write.bind(real),
  }
  return { db, portions }
}

test('a removal takes a few off at a time, then the record, and leaves the others alone', async (t) => {
  const storage = await open(t, 2 * detachBatchSize + 1)
  const { db, portions } = watched(storage)
  await finishRemoval(db, removal, 1)
  assert.deepEqual(portions, [detachBatchSize, detachBatchSize, 1, 0])
  assert.deepEqual(await idsOf(storage, albums), [2, 3])
  assert.equal((await idsOf(storage, tunes)).length, 2 * (2 * detachBatchSize + 1))
})

test('all removals that were interrupted are ended, and twice is no harm', async (t) => {
  const storage = await open(t, detachBatchSize + 1)
  await Promise.all([finishRemovals(storage, removal), finishRemovals(storage, removal)])
  assert.deepEqual(await idsOf(storage, albums), [3])
  assert.equal((await idsOf(storage, tunes)).length, detachBatchSize + 1)
  await finishRemovals(storage, removal)
})

test('a removal that fails goes on where it was', async (t) => {
  const storage = await open(t, 3 * detachBatchSize)
  const { db } = watched(storage, (portion) => (portion === 1 ? Promise.reject(new Error('cut')) : undefined))
  await assert.rejects(finishRemoval(db, removal, 2), /cut/)
  assert.deepEqual(await idsOf(storage, albums), [1, 2, 3])
  const { db: again, portions } = watched(storage)
  await finishRemoval(again, removal, 2)
  assert.deepEqual(portions, [detachBatchSize, detachBatchSize, 0])
})

test('what is stored after the last portion is taken off in another round', async (t) => {
  const storage = await open(t, 0)
  let stored = 0
  const { portions, ...rest } = watched(storage)
  const db: Db = {
    ...rest.db,
    execute: async (asked) => {
      const isLast = purposes.get(asked) === 'deleteRemoved'
      if (isLast && stored++ === 0) await storage.execute(made.insertInto('tunes').values({ id: 1_000, album_id: 1 }))
      return rest.db.execute(asked)
    },
  }
  await finishRemoval(db, removal, 1)
  assert.deepEqual(portions, [0, 1, 0])
  assert.deepEqual(await idsOf(storage, tunes), [])
})

test('a record that something else refers to stays, and the removal says so instead of trying for ever', async (t) => {
  const storage = await open(t, 3)
  await storage.execute(removeThird)
  await assert.rejects(finishRemoval(storage, removal, 3), ForeignKeyViolation)
  assert.deepEqual(await idsOf(storage, albums), [1, 2, 3])
})

test('a record that is in an account is never deleted', async (t) => {
  const storage = await open(t, 0)
  const { db } = watched(storage)
  await finishRemoval(db, removal, 3)
  assert.deepEqual(await idsOf(storage, albums), [1, 2, 3])
})

test('one that is stuck does not hold up the others, and a stop ends a removal after its present step', async (t) => {
  const storage = await open(t, 2 * detachBatchSize)
  const stuck: Removal = { ...removal, selectRemoved: () => albums }
  await storage.execute(removeThird)
  const { db, portions } = watched(storage)
  await finishRemoval(db, removal, 1, () => portions.length === 1)
  assert.deepEqual(portions, [detachBatchSize])
  await assert.rejects(finishRemovals(storage, stuck), ForeignKeyViolation)
  assert.deepEqual(await idsOf(storage, albums), [3])
})
