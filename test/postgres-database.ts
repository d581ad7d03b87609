/** Databases for tests, on the PostgreSQL server of this run. */
import pg from 'pg'
import type { PostgresLocation } from '../src/storage/port.ts'
import {
  databaseUrl,
  execute,
  newName,
  prepareServer,
  type TestServer,
  templateVariable,
  urlVariable,
} from './postgres.ts'

export type NewDatabase = PostgresLocation & { drop(): Promise<void> }

let own: Promise<TestServer> | undefined

/** Returns the server of this run, or starts one for this process. */
async function testServer(): Promise<Pick<TestServer, 'url' | 'template'>> {
  const url = process.env[urlVariable]
  const template = process.env[templateVariable]
  if (url && template) return { url, template }
  own ??= ownServer()
  return own
}

async function ownServer(): Promise<TestServer> {
  const server = await prepareServer()
  process.once('beforeExit', async () => {
    await dropReleased()
    await server.stop()
  })
  return server
}

/** The option for copying databases; undefined until it is known. */
let strategy: string | undefined

/** Copying files takes half as long as copying through the log, the default since PostgreSQL 15. */
async function cheapestCopy(url: string): Promise<string> {
  const [row] = await execute(url, 'show server_version_num')
  return Number(row?.server_version_num) >= 150_000 ? 'strategy file_copy' : ''
}

/** Creates a database, migrated unless `isMigrated` is false. `drop` drops it. */
export async function newDatabase(isMigrated = true): Promise<NewDatabase> {
  const { url, template } = await testServer()
  const name = newName('test')
  strategy ??= await cheapestCopy(url)
  await execute(url, `create database ${name} template ${isMigrated ? template : 'template0'} ${strategy}`)
  return {
    engine: 'postgres',
    url: databaseUrl(url, name),
    pool: 10,
    drop: async () => void (await execute(url, `drop database ${name} with (force)`)),
  }
}

/** The migrated databases that tests have released. */
const released: NewDatabase[] = []

/** Returns a migrated, empty database. Emptying one takes a tenth of the time of creating one, so tests share a few. */
export async function borrowDatabase(): Promise<PostgresLocation & { release(): void }> {
  const used = released.pop()
  const { drop, ...location } = used !== undefined && (await isEmptied(used)) ? used : await newDatabase()
  initial ??= await stateOf(location.url)
  const release = () => {
    if (released.length === 0) process.once('beforeExit', dropReleased)
    released.push({ ...location, drop })
  }
  return { ...location, release }
}

/**
 * Empties a database that a test has released, or drops it and returns false. At its release, the connections of that test
 * may still be open.
 */
async function isEmptied({ url, drop }: NewDatabase): Promise<boolean> {
  const { row, parts } = await stateOf(url)
  // A test added tables or columns.
  if (parts !== initial?.parts) {
    await drop()
    return false
  }
  await execute(url, emptied)
  if (row !== initial.row) await execute(url, restoring(initial.row))
  return true
}

async function dropReleased(): Promise<void> {
  for (const { drop } of released.splice(0)) await drop()
}

interface State {
  /** The row of `instance`, as JSON. */
  readonly row: string
  /** The number of columns of its tables and indexes. */
  readonly parts: string
}

let initial: State | undefined

async function stateOf(url: string): Promise<State> {
  const [state] = await execute(
    url,
    `select to_jsonb(instance)::text as row, (select count(*) from pg_attribute join pg_class on attrelid = pg_class.oid
      where relnamespace = 'public'::regnamespace) as parts from instance`,
  )
  return state as unknown as State
}

/** Ends other connections, deletes all rows except the row of `instance`, and restarts all sequences. */
const emptied = `do $$ begin
    -- Waiting inside pg_terminate_backend would take a tenth of a second for each connection.
    perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
    while exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) loop
      perform pg_sleep(0.002);
      perform pg_stat_clear_snapshot();
    end loop;
  end $$;
  set session_replication_role = replica;
  do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely%'
      and tablename <> 'instance' loop
      execute format('delete from %I', name);
    end loop;
    for name in select sequencename from pg_sequences where schemaname = 'public' loop
      perform setval(format('%I', name)::regclass, 1, false);
    end loop;
  end $$`

function restoring(row: string): string {
  const json = `${pg.escapeLiteral(row)}::jsonb`
  return `delete from instance; insert into instance select * from jsonb_populate_record(null::instance, ${json})`
}
