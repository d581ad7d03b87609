import pg from 'pg'
import { settingsOf } from './pool.ts'

/** Each index and what it is on, as searches ask for it. The first migration makes them where it can. */
const indexes: Readonly<Record<string, string>> = {
  domains_by_text: 'domains using gin ((coalesce(search_text, name))',
  spaces_by_text: 'spaces using gin (name_folded',
}

/** Held by the process that makes the indexes. */
const indexingLock = 0x7761_796d_726c

/**
 * Makes the indexes that searches are fast by, where the database has the extension pg_trgm and has them not: because
 * the extension came later, or making them was cut off. Writes go on meanwhile. Throws what the server says.
 */
export async function makeTextIndexes(url: string): Promise<void> {
  const client = new pg.Client({ ...settingsOf(url), statement_timeout: 0, query_timeout: 0 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query(
      `select extnamespace::regnamespace::text as schema from pg_extension
       where extname = 'pg_trgm' and pg_try_advisory_lock(${indexingLock})`,
    )
    for (const { schema } of rows) {
      for (const [name, what] of Object.entries(indexes))
        await makeIndex(client, name, `${what} ${schema}.gin_trgm_ops)`)
    }
  } finally {
    await client.end()
  }
}

async function makeIndex(client: pg.Client, name: string, what: string): Promise<void> {
  const { rows } = await client.query('select indisvalid from pg_index where indexrelid = to_regclass($1)', [name])
  if (rows[0]?.indisvalid === true) return
  await client.query(`drop index concurrently if exists ${name}`)
  await client.query(`create index concurrently ${name} on ${what}`)
}
