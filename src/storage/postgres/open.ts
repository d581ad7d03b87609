import pg from 'pg'
import { StartupFailure } from '../../errors.ts'
import { isUntrusted } from '../../lib/tls-errors.ts'
import { type MigrationDb, type MigrationState, type Migrations, migrate, readStates } from '../migrate.ts'
import { buildMigrations } from '../migrations/all.ts'
import { describePostgres } from '../port.ts'
import { insufficientPrivilege, readSqlState } from './errors.ts'
import { parseSettings, unlimited } from './pool.ts'
import { checkPooler } from './pooler.ts'
import { PostgresStorage } from './storage.ts'

/** How long a start waits for a connection, because a server may be starting too. Milliseconds. */
const startTimeoutMs = 10_000

const migrations = buildMigrations('postgres')

/** Connects to the database and migrates it. Throws `StartupFailure` if it cannot be used. */
export async function openPostgres(url: string, poolSize: number): Promise<PostgresStorage> {
  await atDatabase(url, async (db, client) => {
    await checkPooler(client, url)
    await migratePostgres(db, migrations)
  })
  return new PostgresStorage(url, poolSize)
}

/** Returns the migrations of the database. Only reads. Throws `StartupFailure`. */
export function migrationsOfPostgres(url: string): Promise<MigrationState[]> {
  return atDatabase(url, (db) => readStates(db, migrations))
}

/** Runs `work` on a separate connection without a statement timeout, which then closes, and rolls back if `work` throws. */
export async function atDatabase<T>(
  url: string,
  work: (db: MigrationDb, client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const patient = { connectionTimeoutMillis: startTimeoutMs, ...unlimited }
  const pool = new pg.Pool({ ...parseSettings(url), ...patient, max: 1 })
  // A connection that the server ends while it closes has done its work.
  pool.on('error', () => undefined)
  let client: pg.PoolClient | undefined
  try {
    client = await pool.connect()
    client.on('error', () => undefined)
    const db = migrationDb(client)
    const [server] = await db.run(
      `select current_setting('server_version_num')::integer / 10000 as version,
        current_setting('server_encoding') as encoding`,
    )
    const fault = findFault(server as Server)
    if (fault !== null) throw new StartupFailure(fault)
    return await work(db, client)
  } catch (error) {
    const cause = error instanceof StartupFailure ? error.cause : error
    const isSaid = error instanceof StartupFailure && readSqlState(cause) !== insufficientPrivilege
    throw isSaid ? error : new StartupFailure(reason(url, cause))
  } finally {
    client?.release(true)
    await pool.end()
  }
}

/** Tables are created in the first schema of the search path. */
function migrationDb(client: pg.PoolClient): MigrationDb {
  const named = 'select 1 from pg_tables where schemaname = current_schema() and tablename = $1'
  return {
    run: async (statement) => (await client.query(statement)).rows,
    hasTable: async (name) => (await client.query(named, [name])).rows.length > 0,
  }
}

/** Any number. Kysely's migrator had the same in earlier versions. */
const migrationLock = 3853314791062309107n

/** Migrates in one transaction, unless up to date. Throws `StartupFailure`, or the server's error. */
export async function migratePostgres(db: MigrationDb, migrations: Migrations): Promise<void> {
  if ((await readStates(db, migrations)).every(({ isApplied }) => isApplied)) return
  await db.run('begin')
  // A pooler hides the settings of the connection, so limits of the role or the database would apply.
  for (const name of ['statement_timeout', 'lock_timeout']) await db.run(`set local ${name} = 0`)
  // The lock of a session would stay on a connection that a pooler shares.
  await db.run(`select pg_advisory_xact_lock(${migrationLock})`)
  await migrate(db, migrations)
  await db.run('commit')
}

interface Server {
  readonly version: number
  readonly encoding: string
}

const minVersion = 14

/** Returns why Waymark cannot use the database, in a sentence; null if it can. */
export function findFault({ version, encoding }: Server): string | null {
  if (version < minVersion) return `The database is PostgreSQL ${version}. Waymark requires ${minVersion} or newer.`
  if (encoding === 'UTF8') return null
  return `The database encoding is ${encoding}. Create a UTF-8 database: create database … encoding 'UTF8' template template0.`
}

function reason(url: string, error: unknown): string {
  const database = describePostgres(url)
  const { message, code, syscall, path } = error as NodeJS.ErrnoException
  if (isUntrusted(error)) {
    return `The database ${database} has a TLS certificate that this machine doesn't trust (${code}). Add sslrootcert=FILE with its CA certificate to DATABASE_URL.`
  }
  if (syscall === 'open') return `DATABASE_URL names a file that can't be read: ${path} (${code}).`
  const [, rejected] = /^unsupported startup parameter(?: in options)?: ([\w.]+)$/.exec(message) ?? []
  if (rejected !== undefined) return formatRejectedParameter(database, rejected)
  if (/client password must be/.test(message)) {
    return `The database ${database} requires a password. Add it to DATABASE_URL, or set PGPASSWORD.`
  }
  return (
    explanations[readSqlState(error)]?.(database) ??
    `Can't connect to the database ${database}: ${message || code}. Check DATABASE_URL, and that the database is running.`
  )
}

/** Formats the error of PgBouncer, which rejects parameters of a connection that it can't keep track of. */
function formatRejectedParameter(database: string, name: string): string {
  if (ownLimits.includes(name)) {
    return `The pooler at ${database} rejects Waymark's timeouts. Add this line to pgbouncer.ini: ignore_startup_parameters = ${ownLimits.join()}`
  }
  return `The pooler at ${database} rejects the parameter ${name}. Remove it from DATABASE_URL, or add it to ignore_startup_parameters in pgbouncer.ini.`
}

const ownLimits = ['statement_timeout', 'idle_in_transaction_session_timeout']

const explanations: Readonly<Record<string, (database: string) => string>> = {
  '28P01': (database) => `The database ${database} rejects the user or the password. Check DATABASE_URL.`,
  '28000': (database) =>
    `The database ${database} rejects the user. Check DATABASE_URL, and pg_hba.conf on the server.`,
  '3D000': (database) => `The database ${database} doesn't exist. Create it with createdb, or check DATABASE_URL.`,
  '25006': (database) =>
    `The database ${database} is read-only, probably a standby. Migrations require the primary: set DATABASE_URL to its address.`,
  [insufficientPrivilege]: (database) =>
    `The user isn't allowed to create tables in the database ${database}. Make the user its owner (createdb --owner=USER), or grant it CREATE on a schema.`,
}
