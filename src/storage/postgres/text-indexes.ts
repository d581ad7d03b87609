import pg from 'pg'
import type { Resource } from '../../resources.ts'
import { settingsOf, unlimited } from './pool.ts'

const indexingLock = 0x7761_796d_726c

/** Creates missing and invalid search indexes if the database has pg_trgm. Does not block writes. */
export async function makeTextIndexes(url: string, resources: Readonly<Record<string, Resource>>): Promise<void> {
  const wanted = new Map(Object.entries(resources).flatMap(indexesOf))
  await withClient(url, async (locker) => {
    // `create index concurrently` can't run in a transaction, and a session's lock would stay on a pooler's connection.
    await locker.query('begin; set local idle_in_transaction_session_timeout = 0')
    const { rows: extensions } = await locker.query<{ schema: string }>(
      `select extnamespace::regnamespace::text as schema from pg_extension
       where extname = 'pg_trgm' and pg_try_advisory_xact_lock(${indexingLock})`,
    )
    // With parameters, the transaction would keep a snapshot, and creating an index waits for all older snapshots.
    const { rows: missing } = await locker.query<{ name: string }>(
      `select name from unnest('{${[...wanted.keys()]}}'::text[]) as name
       where not exists (select from pg_index where indexrelid = to_regclass(name) and indisvalid)`,
    )
    for (const { schema } of missing.length > 0 ? extensions : []) {
      await withClient(url, async (maker) => {
        for (const { name } of missing) {
          await maker.query(`drop index concurrently if exists ${name}`)
          await maker.query(`create index concurrently ${name} on ${wanted.get(name)} ${schema}.gin_trgm_ops)`)
        }
      })
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

/** Returns the name and the table of an index for each searched text. Migrations that change a text drop its index. */
function indexesOf([table, { searched }]: [string, Resource]): [name: string, on: string][] {
  return Object.entries(searched).map(([name, text], at) => [
    at === 0 ? `${table}_by_text` : `${table}_by_${name}_text`,
    `${table} using gin ((${text})`,
  ])
}
