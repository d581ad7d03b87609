import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'

const { url, drop } = await newDatabase()
after(drop)

/** Inserts spaces with ids from `first` to `last`. Every third space belongs to account 2, all others to account 1. */
const insertSpaces = (first: number, last: number) => `
  insert into spaces (id, account_id, name, name_folded, color, created_at, updated_at)
    select n, case when n % 3 = 0 then 2 else 1 end, 'n', 'n', 1, '', '' from generate_series(${first}, ${last}) as n
    on conflict do nothing;`

/** Returns the counted and the existing spaces of accounts 1 and 2. */
async function countSpaces(): Promise<unknown> {
  const [row] = await execute(
    url,
    `select
      (select array_agg(total order by account_id) from (
        select account_id, sum(total)::integer as total from record_counts where resource = 'spaces' group by account_id
      ) as counts) as counted,
      (select array_agg(total order by account_id) from (
        select account_id, count(*)::integer as total from spaces group by account_id
      ) as rows) as existing`,
  )
  return row
}

test('writes each total once for a statement, regardless of the number of records', async () => {
  const writes = `select (n_tup_ins + n_tup_upd)::integer as writes
    from pg_stat_xact_user_tables where relname = 'record_counts'`
  for (const statement of [insertSpaces(1, 999), insertSpaces(1000, 1998), 'delete from spaces where id <= 999;']) {
    assert.deepEqual(await execute(url, statement + writes), [{ writes: 2 }], statement)
  }
  assert.deepEqual(await countSpaces(), { counted: [666, 333], existing: [666, 333] })
})

test('keeps totals exact when connections insert and delete concurrently, and when a statement changes nothing', async () => {
  await execute(url, 'delete from spaces')
  const turns = Array.from({ length: 12 }, async (_, turn) => {
    const first = turn * 100 + 1
    await execute(url, insertSpaces(first, first + 99))
    await execute(url, insertSpaces(first, first + 99))
    await execute(url, `delete from spaces where id between ${first} and ${first + 29}`)
    await execute(url, `delete from spaces where id between ${first} and ${first + 29}`)
    await execute(url, `delete from spaces where id = ${first + 30}`)
  })
  await Promise.all(turns)
  assert.deepEqual(await countSpaces(), { counted: [552, 276], existing: [552, 276] })
})
