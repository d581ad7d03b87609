/** Removals in steps, on both engines, with tables that are made up: tunes refer to albums, and so may covers. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { Kysely } from 'kysely'
import { newLocation } from '../../test/engine.ts'
import { execute } from '../../test/postgres.ts'
import { ForeignKeyViolation } from '../errors.ts'
import { openStorage } from './open.ts'
import type { Db, Storage } from './port.ts'
import { finishRemoval, finishRemovals, type Removal, takenOffAtOnce } from './removal.ts'
import { statement } from './statement.ts'

interface Tables {
  albums: { id: number; account_id: number }
  tunes: { id: number; album_id: number }
}

const removal: Removal = {
  takeLinksOff: statement((db: Kysely<Tables>, { id }: { id: number; now: string }) =>
    db
      .deleteFrom('tunes')
      .where('id', 'in', (some) =>
        some.selectFrom('tunes').select('id').where('album_id', '=', id).limit(takenOffAtOnce),
      )
      .returning('id'),
  ),
  selectLink: statement((db: Kysely<Tables>, { id }: { id: number }) =>
    db.selectFrom('tunes').select('id').where('album_id', '=', id).limit(1),
  ),
  deleteOut: statement((db: Kysely<Tables>, { id }: { id: number }) =>
    db.deleteFrom('albums').where('id', '=', id).where('account_id', '=', 0).returning('id'),
  ),
  selectOut: statement((db: Kysely<Tables>) => db.selectFrom('albums').select('id').where('account_id', '=', 0)),
}
const insertTune = statement((db: Kysely<Tables>, tune: { id: number; album: number }) =>
  db.insertInto('tunes').values({ id: tune.id, album_id: tune.album }),
)
const selectAlbums = statement((db: Kysely<Tables>) => db.selectFrom('albums').select('id').orderBy('id'))
const selectTunes = statement((db: Kysely<Tables>) => db.selectFrom('tunes').select('id').orderBy('id'))

/** Albums 1 and 2 are in account 0, album 3 is not; each has as many tunes. */
async function open(t: TestContext, tunes: number): Promise<Storage> {
  const location = await newLocation((work) => t.after(work))
  const storage = await openStorage(location)
  t.after(() => storage.close())
  const made = `create table albums (id integer primary key, account_id integer not null);
    create table tunes (id integer primary key, album_id integer not null references albums (id));
    create table covers (album_id integer not null references albums (id));
    insert into albums values (1, 0), (2, 0), (3, 7);
    insert into tunes with recursive n (n) as (select 1 union all select n + 1 from n where n < ${3 * tunes})
      select n, 1 + n % 3 from n where ${tunes} > 0;
    insert into covers values (3)`
  if (location.engine === 'postgres') await execute(location.url, made)
  else {
    const database = new DatabaseSync(location.path)
    database.exec(made)
    database.close()
  }
  return storage
}

const idsOf = async (db: Db, of: typeof selectAlbums) => (await db.all(of, {})).map(({ id }) => id)

/** The same storage, and what each portion took; `before` comes first. */
function watched(real: Storage, before: (portion: number) => unknown = () => undefined) {
  const portions: number[] = []
  const writeOne: Db['writeOne'] = async (wanted, params) => {
    const isPortion = (wanted as unknown) === removal.takeLinksOff
    if (isPortion) await before(portions.length)
    const rows = await real.writeOne(wanted, params)
    if (isPortion) portions.push(rows.length)
    return rows
  }
  const db: Db = { execute: real.execute.bind(real), all: real.all.bind(real), write: real.write.bind(real), writeOne }
  return { db, portions }
}

test('a removal takes a few off at a time, then the record, and leaves the others alone', async (t) => {
  const storage = await open(t, 2 * takenOffAtOnce + 1)
  const { db, portions } = watched(storage)
  await finishRemoval(db, removal, 1)
  assert.deepEqual(portions, [takenOffAtOnce, takenOffAtOnce, 1, 0])
  assert.deepEqual(await idsOf(storage, selectAlbums), [2, 3])
  assert.equal((await idsOf(storage, selectTunes)).length, 2 * (2 * takenOffAtOnce + 1))
})

test('all removals that were interrupted are ended, and twice is no harm', async (t) => {
  const storage = await open(t, takenOffAtOnce + 1)
  await Promise.all([finishRemovals(storage, removal), finishRemovals(storage, removal)])
  assert.deepEqual(await idsOf(storage, selectAlbums), [3])
  assert.equal((await idsOf(storage, selectTunes)).length, takenOffAtOnce + 1)
  await finishRemovals(storage, removal)
})

test('a removal that fails goes on where it was', async (t) => {
  const storage = await open(t, 3 * takenOffAtOnce)
  const { db } = watched(storage, (portion) => (portion === 1 ? Promise.reject(new Error('cut')) : undefined))
  await assert.rejects(finishRemoval(db, removal, 2), /cut/)
  assert.deepEqual(await idsOf(storage, selectAlbums), [1, 2, 3])
  const { db: again, portions } = watched(storage)
  await finishRemoval(again, removal, 2)
  assert.deepEqual(portions, [takenOffAtOnce, takenOffAtOnce, 0])
})

test('what is stored after the last portion is taken off in another round', async (t) => {
  const storage = await open(t, 0)
  let stored = 0
  const { portions, ...rest } = watched(storage)
  const db: Db = {
    ...rest.db,
    writeOne: async (wanted, params) => {
      const isLast = (wanted as unknown) === removal.deleteOut
      if (isLast && stored++ === 0) await storage.writeOne(insertTune, { id: 1_000, album: 1 })
      return rest.db.writeOne(wanted, params)
    },
  }
  await finishRemoval(db, removal, 1)
  assert.deepEqual(portions, [0, 1, 0])
  assert.deepEqual(await idsOf(storage, selectTunes), [])
})

test('a record that something else refers to stays, and the removal says so instead of trying for ever', async (t) => {
  const storage = await open(t, 3)
  const takeOut = statement((db: Kysely<Tables>) => db.updateTable('albums').set({ account_id: 0 }).where('id', '=', 3))
  await storage.writeOne(takeOut, {})
  await assert.rejects(finishRemoval(storage, removal, 3), ForeignKeyViolation)
  assert.deepEqual(await idsOf(storage, selectAlbums), [1, 2, 3])
})

test('a record that is in an account is never deleted', async (t) => {
  const storage = await open(t, 0)
  const { db } = watched(storage)
  await finishRemoval(db, removal, 3)
  assert.deepEqual(await idsOf(storage, selectAlbums), [1, 2, 3])
})

test('one that is stuck does not hold up the others, and a stop ends a removal after its present step', async (t) => {
  const storage = await open(t, 2 * takenOffAtOnce)
  const stuck: Removal = {
    ...removal,
    selectOut: statement((db: Kysely<Tables>) => db.selectFrom('albums').select('id')),
  }
  const takeOut = statement((db: Kysely<Tables>) => db.updateTable('albums').set({ account_id: 0 }).where('id', '=', 3))
  await storage.writeOne(takeOut, {})
  const { db, portions } = watched(storage)
  await finishRemoval(db, removal, 1, () => portions.length === 1)
  assert.deepEqual(portions, [takenOffAtOnce])
  await assert.rejects(finishRemovals(storage, stuck), ForeignKeyViolation)
  assert.deepEqual(await idsOf(storage, selectAlbums), [3])
})
