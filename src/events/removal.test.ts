/** Removals in steps, on both engines, with other tables: tunes and covers refer to albums. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { executeAt, newLocation } from '../../test/engine.ts'
import { ForeignKeyViolation } from '../errors.ts'
import { openStorage } from '../storage/open.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { detachBatchSize, finishRemoval, finishRemovals, type Removal } from './removal.ts'

type Tables = {
  albums: { id: number; account_id: number }
  tunes: { id: number; album_id: number }
}
const made = query.withTables<Tables>()

const albums = made.selectFrom('albums').select('id').orderBy('id')
const tunes = made.selectFrom('tunes').select('id').orderBy('id')
const removal: Removal = {
  record: 'domain',
  detachLinks: async (db, id) => {
    const some = made.selectFrom('tunes').select('id').where('album_id', '=', id).limit(detachBatchSize)
    const detachment = made.deleteFrom('tunes').where('id', 'in', some).returning('id')
    return (await db.execute(detachment)).length
  },
  selectLink: (id) => tunes.where('album_id', '=', id).limit(1),
  deleteRemoved: (id) => made.deleteFrom('albums').where('id', '=', id).where('account_id', '=', 0).returning('id'),
  selectRemoved: () => albums.where('account_id', '=', 0),
}
const removeThird = made.updateTable('albums').set({ account_id: 0 }).where('id', '=', 3)

/** Opens storage with albums 1 and 2 in account 0, album 3 in account 7, and `count` tunes for each. */
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
  await executeAt(location, text)
  return storage
}

const idsOf = async (db: Db, of: typeof albums | typeof tunes) => (await db.execute(of)).map(({ id }) => id)

test('deletes a record whose last link another process detaches after the deletion has failed', async (t) => {
  const storage = await open(t, 0)
  const deletion = removal.deleteRemoved(1)
  let isLate = false
  const execute: Db['execute'] = async (asked) => {
    if (isLate || asked !== deletion) return storage.execute(asked)
    isLate = true
    await storage.execute(made.insertInto('tunes').values({ id: 1, album_id: 1 }))
    try {
      return await storage.execute(asked)
    } finally {
      await storage.execute(made.deleteFrom('tunes'))
    }
  }
  const late = { ...removal, deleteRemoved: () => deletion }
  await finishRemoval({ execute, write: storage.write.bind(storage) }, late, 1)
  assert.ok(isLate)
  assert.deepEqual(await idsOf(storage, albums), [2, 3])
})

test('deletes no record in an account, and throws for a record that something other than links refers to', async (t) => {
  const storage = await open(t, 3)
  await finishRemoval(storage, removal, 3)
  assert.deepEqual(await idsOf(storage, albums), [1, 2, 3])
  await storage.execute(removeThird)
  await assert.rejects(finishRemoval(storage, removal, 3), ForeignKeyViolation)
  assert.deepEqual(await idsOf(storage, albums), [1, 2, 3])
})

test('finishes other removals if one is stuck, and stops after the current step', async (t) => {
  const storage = await open(t, 2 * detachBatchSize)
  const stuck: Removal = { ...removal, selectRemoved: () => albums }
  await storage.execute(removeThird)
  let batches = 0
  const counting: Removal = {
    ...removal,
    detachLinks: (...parameters) => {
      batches += 1
      return removal.detachLinks(...parameters)
    },
  }
  await finishRemoval(storage, counting, 1, () => batches === 1)
  assert.equal((await idsOf(storage, tunes)).length, 5 * detachBatchSize)
  await assert.rejects(finishRemovals(storage, stuck), ForeignKeyViolation)
  assert.deepEqual(await idsOf(storage, albums), [3])
})
