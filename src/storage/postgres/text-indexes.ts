import pg from 'pg'
import type { Resource } from '../../resources.ts'
import { settingsOf } from './pool.ts'

/** Held by the process that makes the indexes. */
const indexingLock = 0x7761_796d_726c

/**
 * Makes the indexes that searches are fast by, where the database has the extension pg_trgm but lacks an index: because
 * the extension came later, or making the index was interrupted. Writes go on meanwhile. Throws the server's error.
 */
export async function makeTextIndexes(url: string, resources: Readonly<Record<string, Resource>>): Promise<void> {
  const client = new pg.Client({ ...settingsOf(url), statement_timeout: 0, query_timeout: 0 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query(
      `select extnamespace::regnamespace::text as schema from pg_extension
       where extname = 'pg_trgm' and pg_try_advisory_lock(${indexingLock})`,
    )
    for (const { schema } of rows) {
      for (const [name, what] of Object.entries(resources).flatMap(indexesOf))
        await makeIndex(client, name, `${what} ${schema}.gin_trgm_ops)`)
    }
  } finally {
    await client.end()
  }
}

/**
 * One index for each searched text, so that any of them can be searched alone. The first is `<table>_by_text`, as the
 * first migration names it. A migration that changes an expression drops its index.
 */
function indexesOf([table, { searched }]: [string, Resource]): [name: string, what: string][] {
  return Object.entries(searched).map(([name, text], at) => [
    at === 0 ? `${table}_by_text` : `${table}_by_${name}_text`,
    `${table} using gin ((${text})`,
  ])
}

async function makeIndex(client: pg.Client, name: string, what: string): Promise<void> {
  const { rows } = await client.query('select indisvalid from pg_index where indexrelid = to_regclass($1)', [name])
  if (rows[0]?.indisvalid === true) return
  await client.query(`drop index concurrently if exists ${name}`)
  await client.query(`create index concurrently ${name} on ${what}`)
}
