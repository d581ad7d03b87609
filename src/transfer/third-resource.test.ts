/** A kind of record that this folder has never heard of, made up here: a note on a domain, in a space. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { Generated } from 'kysely'
import { newDatabase } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import { transferables } from '../app/app.ts'
import { insertDomain } from '../domains/store.ts'
import { insertSpace } from '../spaces/store.ts'
import { openStorage } from '../storage/open.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { storedByOrigin } from './by-origin.ts'
import { exported } from './export.ts'
import { importRecords } from './import.ts'
import { Origins } from './store.ts'
import { idIn, type Members, type Target, type Transferable, timesOf, Unusable } from './transferable.ts'

type Tables = {
  notes: { id: Generated<number>; account_id: number; domain_id: number; space_id: number; created_at: string }
}

const withNotes = query.withTables<Tables>()
const notesOf = (account: number) =>
  withNotes
    .selectFrom('notes')
    .select(['id', 'domain_id', 'space_id', 'created_at', 'created_at as updated_at'])
    .where('account_id', '=', account)

interface Place {
  readonly domain_id: number
  readonly space_id: number
}

const origins = new Origins('note')

const noteTransfer: Transferable = {
  plural: 'notes',
  singular: 'note',
  after: (db, account, after) => db.execute(notesOf(account).where('id', '>', after).orderBy('id')),
  read: (members) => (tx, target) => {
    const times = timesOf(members)
    const place = placeHere(members, target)
    return storedByOrigin(origins, {
      id: idIn(members) ?? 0,
      times,
      find: async (db, account, id) => (await db.execute(notesOf(account).where('id', '=', id)))[0],
      isSame: (note) => note.domain_id === place.domain_id && note.space_id === place.space_id,
      insert: (db, account) => insertNote(db, account, place),
    })(tx, target)
  },
}

function placeHere(members: Members, { idOf }: Target): Place {
  const domain_id = idOf('domains', Number(members.domain_id))
  const space_id = idOf('spaces', Number(members.space_id))
  if (domain_id === undefined || space_id === undefined) throw new Unusable('Its domain or its space is not here.')
  return { domain_id, space_id }
}

async function insertNote(db: Db, account: number, place: Place) {
  const created_at = new Date().toISOString()
  const insert = withNotes.insertInto('notes').values({ account_id: account, ...place, created_at })
  const [row] = await db.execute(insert.returning('id'))
  return { id: row?.id ?? 0, created_at, updated_at: created_at, ...place }
}

async function newPlace(t: TestContext): Promise<Storage> {
  const { path } = newDatabase(t)
  const storage = await openStorage({ engine: 'sqlite', path })
  t.after(() => storage.close())
  const database = new DatabaseSync(path)
  database.exec(`
    create table notes (
      id integer primary key autoincrement, account_id integer not null, created_at text not null,
      domain_id integer not null references domains (id), space_id integer not null references spaces (id)
    ) strict;
    create table note_origins (
      note_id integer primary key references notes (id) on delete cascade, account_id integer not null,
      source text not null, source_id integer not null, unique (account_id, source, source_id)
    ) strict`)
  database.close()
  await createAccount(storage, 'Acme')
  return storage
}

const three = [...transferables, noteTransfer]
const noUrls = { homepage_url: null, not_found_url: null }
const hostName = (name: string) => ({ name, nameUnicode: name })

test('a third kind of record is exported and imported once, with references that lead to the same records', async (t) => {
  const [from, to] = [await newPlace(t), await newPlace(t)]
  for (const name of ['a.example.com', 'b.example.com']) await insertDomain(from, 1, hostName(name), noUrls)
  for (const name of ['First', 'Second']) await insertSpace(from, 1, { name, color: 1 })
  for (const domain_id of [2, 1, 2]) await insertNote(from, 1, { domain_id, space_id: 2 })
  // There, the ids are others, and the name of the first domain is taken.
  await insertSpace(to, 1, { name: 'Here', color: 1 })
  await createAccount(to, 'Other')
  await insertDomain(to, 2, hostName('a.example.com'), noUrls)

  const texts = await Array.fromAsync(exported(from, 1, three))
  assert.equal(texts.at(-1), '{"end":{"domains":2,"spaces":2,"links":0,"click_days":0,"notes":3}}\n')
  for (const stored of [5, 0]) {
    const refused: string[] = []
    const listener = { refused: (line: number, reason: string) => refused.push(`${line}: ${reason}`), progressed() {} }
    const file = async function* () {
      yield Buffer.from(texts.join(''))
    }
    const imported = await importRecords(to, { account: 1, asNew: false, transferables: three }, file(), listener)
    assert.deepEqual(imported, { stored, known: 5 - stored, refused: 2, missing: null })
    assert.deepEqual(refused, [
      '2: name: The name a.example.com has already been taken. Choose another name.',
      '7: Its domain or its space is not here.',
    ])
    const notes = await to.execute(notesOf(1).orderBy('id'))
    assert.deepEqual(
      notes.map(({ domain_id, space_id }) => [domain_id, space_id]),
      [
        [2, 3],
        [2, 3],
      ],
    )
  }
})
