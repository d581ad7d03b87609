import pg from 'pg'
import type { Resource } from '../../resources.ts'
import { settingsOf, unlimited } from './pool.ts'

const indexingLock = 0x7761_796d_726c

/** Creates missing and invalid search indexes if the database has pg_trgm. Does not block writes. */
export async function makeTextIndexes(url: string, resources: Readonly<Record<string, Resource>>): Promise<void> {
  await withClient(url, async (locker) => {
    // `create index concurrently` can't run in a transaction, and a session's lock would stay on a pooler's connection.
    await locker.query('begin; set local idle_in_transaction_session_timeout = 0')
    const { rows } = await locker.query(
      `select extnamespace::regnamespace::text as schema from pg_extension
       where extname = 'pg_trgm' and pg_try_advisory_xact_lock(${indexingLock})`,
    )
    for (const { schema } of rows) {
      const missing = await missingIndexes(locker, Object.entries(resources).flatMap(indexesOf))
      if (missing.length > 0) await withClient(url, (maker) => createIndexes(maker, missing, schema))
    }
    await locker.query('commit')
  })
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...settingsOf(url), ...unlimited })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end()
  }
}

interface TextIndex {
  readonly name: string
  readonly on: string
}

/** Returns one index for each searched text. A migration that changes an expression drops its index. */
function indexesOf([table, { searched }]: [string, Resource]): TextIndex[] {
  return Object.entries(searched).map(([name, text], at) => ({
    name: at === 0 ? `${table}_by_text` : `${table}_by_${name}_text`,
    on: `${table} using gin ((${text})`,
  }))
}

/** The values are in the text: with parameters, the transaction would keep a snapshot, which blocks new indexes. */
async function missingIndexes(client: pg.Client, indexes: readonly TextIndex[]): Promise<TextIndex[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from (values ${indexes.map(({ name }) => `('${name}')`).join()}) as wanted (name)
     where not exists (select from pg_index where indexrelid = to_regclass(name) and indisvalid)`,
  )
  const missing = new Set(rows.map(({ name }) => name))
  return indexes.filter(({ name }) => missing.has(name))
}

async function createIndexes(client: pg.Client, indexes: readonly TextIndex[], schema: string): Promise<void> {
  for (const { name, on } of indexes) {
    await client.query(`drop index concurrently if exists ${name}`)
    await client.query(`create index concurrently ${name} on ${on} ${schema}.gin_trgm_ops)`)
  }
}
