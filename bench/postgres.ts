/**
 * PostgreSQL under the bench: the server that TEST_POSTGRES_URL names, else one of its own, which writes as durably as
 * one in production.
 */
import pg from 'pg'
import { createAccount } from '../src/accounts/store.ts'
import { createKey } from '../src/keys/store.ts'
import { openStorage, type StorageLocation } from '../src/storage/open.ts'
import { databaseUrl, execute, newName, startPostgres } from '../test/postgres.ts'
import { hostNameOf, urlsOf } from './records.ts'
import type { Seed } from './seed.ts'

const rowsAtOnce = 5_000
const poolSize = 10

export interface BenchServer {
  readonly url: string
  stop(): Promise<void>
}

/** Finds the server, or starts one. */
export async function benchServer(): Promise<BenchServer> {
  const given = process.env.TEST_POSTGRES_URL
  return given ? { url: given, stop: async () => undefined } : startPostgres({ isDurable: true })
}

/** A database with the records 1 to `records`, and a key that may do everything. It is made anew for each run. */
export async function seededDatabase(
  { url }: BenchServer,
  records: number,
  say: (line: string) => void,
): Promise<Seed & { drop(): Promise<void> }> {
  const name = newName('bench')
  await execute(url, `create database ${name} template template0`)
  const location: StorageLocation = { engine: 'postgres', url: databaseUrl(url, name), pool: poolSize }
  const storage = await openStorage(location)
  const account = await createAccount(storage, 'Bench')
  const key = { account: account.id, name: 'bench', scopes: ['*'] as const, lifetimeMs: null }
  const { secret } = await createKey(storage, key)
  await storage.close()
  await fill(location.url, account.id, records, say)
  return {
    location,
    records,
    account: account.id,
    secret,
    drop: async () => void (await execute(url, `drop database ${name} with (force)`)),
  }
}

/** Past the stores: one by one, a million records would take as many turns of the network. */
async function fill(url: string, account: number, records: number, say: (line: string) => void): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (let from = 1; from <= records; from += rowsAtOnce) {
    const numbers = Array.from({ length: Math.min(rowsAtOnce, records - from + 1) }, (_, at) => from + at)
    const rows = numbers.map((record) => ({ ...hostNameOf(record), ...urlsOf(record) }))
    await client.query(
      `insert into domains (account_id, name, name_unicode, search_text, homepage_url, not_found_url, created_at, updated_at)
        select $1, name, unicode, case when name <> unicode then name || chr(10) || unicode end, home, lost, $6, $6
        from unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality as row (name, unicode, home, lost, at)
        order by at`,
      [
        account,
        rows.map(({ name }) => name),
        rows.map(({ nameUnicode }) => nameUnicode),
        rows.map(({ homepage_url }) => homepage_url),
        rows.map(({ not_found_url }) => not_found_url),
        new Date().toISOString(),
      ],
    )
    say(`Storing ${records} records on PostgreSQL: ${Math.round(((from + rows.length - 1) / records) * 100)} %`)
  }
  await client.query('vacuum analyze')
  await client.end()
}
