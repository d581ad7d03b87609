import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { firstPage } from '../../../test/first-page.ts'
import { Folder, listables, listingOf, migrated, Records } from '../../../test/lists-model.ts'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { eventually } from '../../../test/processes.ts'
import { runs } from '../../../test/runs.ts'
import { openPostgres } from './open.ts'
import { makeTextIndexes } from './storage.ts'

const { url, drop } = await newDatabase()
const storage = await openPostgres(url, 4)
const folder = await migrated(new Folder())
const records = new Records(folder)

const words = ['Shop', 'shop', 'ÉTÉ', 'a%b', 'a_b', 'back\\slash', '日本', 'Z', '💩', 'a"b*', "it's"]

before(async () => {
  records.db.exec('begin')
  for (let n = 1; n <= 12_500; n++) {
    records.insertCard(n % 50 === 0 ? 2 : 1, `${words[n % words.length]} card ${n % 900}`, {
      note: n % 3 === 0 ? null : `Note ${n}`,
      shelf_id: [null, 1, 2, 3][n % 4] ?? null,
      is_kept: n % 10 === 0 ? 0 : 1,
      weight: n % 300,
      plays: (n * 7) % 50,
    })
  }
  const other = { note: null, shelf_id: null, is_kept: 1, weight: 1, plays: 1 }
  // Beside `xq`: the ends of a text, ASCII, a control character, and other characters, in all combinations.
  const besides = ['', 'a', '.', '\n', 'é', '本', '💩', '\u0080', 'aaa']
  for (const left of besides) for (const right of besides) records.insertCard(1, `${left}xq${right}`, other)
  for (const note of ['xq', 'xq本', 'ü']) records.insertCard(1, 'a card', { ...other, note })
  records.db.exec('commit')
  const rowsOf = (table: string) => JSON.stringify(records.db.prepare(`select * from ${table}`).all())
  await execute(
    url,
    `create table cards (
      id bigint primary key, account_id bigint not null, name text not null, name_folded text collate "C" not null,
      note_folded text, shelf_id bigint, is_kept integer not null, weight integer not null, created_at text not null
    );
    create index cards_by_account on cards (account_id, id);
    create index cards_by_name on cards (account_id, name_folded, id);
    create index cards_by_weight on cards (account_id, weight, id);
    create index cards_by_shelf_id on cards (account_id, shelf_id, id);
    create index cards_by_is_kept on cards (account_id, is_kept, id);
    create table card_plays (
      card_id bigint primary key, account_id bigint not null, shelf_id bigint, plays integer not null
    );
    create index card_plays_by_plays on card_plays (account_id, plays, card_id);
    create trigger stored after insert on cards referencing new table as changed
      for each statement execute function records_stored();
    insert into cards select * from json_populate_recordset(null::cards, $data$${rowsOf('cards')}$data$);
    insert into record_counts
      select account_id, 'kept_cards', 0, count(*) from cards where is_kept = 1 group by account_id;
    insert into card_plays select * from json_populate_recordset(null::card_plays, $data$${rowsOf('card_plays')}$data$);
    analyze cards, card_plays`,
  )
  await makeIndexes()
})

after(async () => {
  records.db.close()
  folder.remove()
  await storage.close()
  await drop()
})

const makeIndexes = () => makeTextIndexes(url, { cards: { singular: 'card', ...listables.cards } })

async function indexes(): Promise<unknown[]> {
  const rows = await execute(
    url,
    `select relname from pg_class join pg_index on indexrelid = oid
      where relname ~ '^cards_by_(.*text|letters)$' and indisvalid order by 1`,
  )
  return rows.map(({ relname }) => relname)
}

const textIndexes = ['cards_by_letters', 'cards_by_note_text', 'cards_by_text']

async function assertPages(): Promise<void> {
  const property = fc.asyncProperty(listingOf('cards'), async (listing) => {
    assert.deepEqual(await storage.list(listing), records.page(listing))
  })
  await fc.assert(property, { numRuns: runs(100, 40) })
}

test('returns the rows, order and total of a naive list', async () => {
  assert.deepEqual(await indexes(), textIndexes)
  await assertPages()
})

test('finds one and two characters at all places of a text', async () => {
  for (const search of [
    'xq',
    'q本',
    '本x',
    '本',
    'é',
    'éx',
    'q💩',
    '💩',
    '\n',
    '\nx',
    '.x',
    'q',
    'aa',
    'ca',
    '\ue000',
    'z\ue001',
  ]) {
    for (const terms of [[search], [search, 'card'], [search, 'xq']]) {
      const listing = { ...firstPage, of: listables.cards, account: 1, search: terms }
      assert.deepEqual(await storage.list(listing), records.page(listing), JSON.stringify(terms))
    }
  }
})

test('returns the right page and an inexact total if a filter has too many matches', async () => {
  const listing = { ...firstPage, of: listables.cards, account: 1, filter: { is_kept: 1 } }
  for (const changed of [{}, { after: 6_000 }, { sortBy: 'weight' }, { sortBy: 'plays' }]) {
    const page = await storage.list({ ...listing, ...changed })
    assert.deepEqual(page, records.page({ ...listing, ...changed }))
    assert.equal(page.totalIsExact, false)
  }
})

test('leaves out archived records, with an exact total', async () => {
  const { total } = await storage.list({ ...firstPage, of: listables.cards, account: 1, filter: { is_kept: 0 } })
  assert.equal(total, records.all.filter(({ account, filters }) => account === 1 && filters.is_kept === 0).length)
})

test('finds a rare term with the index of each searched text', async () => {
  const plan = await execute(
    url,
    `explain select id from cards where account_id = 1 and (name_folded like '%card 777%' or note_folded like '%e 12344%')`,
  )
  assert.match(JSON.stringify(plan), /cards_by_text.*cards_by_note_text/)
})

test('lists without pg_trgm, and creates its indexes when the extension is back', async () => {
  await execute(url, 'drop extension pg_trgm cascade')
  assert.deepEqual(await indexes(), ['cards_by_letters'])
  await makeIndexes()
  await assertPages()
  await execute(url, 'create extension pg_trgm')
  await makeIndexes()
  assert.deepEqual(await indexes(), textIndexes)
})

test('creates an interrupted index again', async () => {
  await execute(url, `update pg_index set indisvalid = false where indexrelid = 'cards_by_text'::regclass`)
  assert.deepEqual(await indexes(), ['cards_by_letters', 'cards_by_note_text'])
  await makeIndexes()
  assert.deepEqual(await indexes(), textIndexes)
})

test('creates the indexes of every table after the start, and reports errors', async () => {
  const valid = `select relname from pg_class join pg_index on indexrelid = oid
    where relname ~ '^(domains|spaces|links)_by_(.*_)?text$' and indisvalid`
  storage.start((error) => assert.fail(String(error)))
  await eventually(async () => (await execute(url, valid)).length === 5)
  await execute(url, 'drop index domains_by_text; alter table domains rename to elsewhere')
  let reported: unknown
  await eventually(() => {
    // Does nothing until the first start has released its lock.
    storage.start((error) => {
      reported = error
    })
    return reported !== undefined
  })
  assert.match(String(reported), /relation "domains" does not exist/)
})
