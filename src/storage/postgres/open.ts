import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { StartupFailure } from '../../errors.ts'
import { type MigrationState, type Migrations, migrate, statesOf } from '../migrate.ts'
import { migrationsOf } from '../migrations/all.ts'
import { placeOfPostgres } from '../port.ts'
import { insufficientPrivilege, stateOf } from './errors.ts'
import { settingsOf, unlimited } from './pool.ts'
import { PostgresStorage } from './storage.ts'

/** How long a start waits for a connection, because a server may be starting too. Milliseconds. */
const startTimeoutMs = 10_000

const migrations = migrationsOf('postgres')

/** Connects to the database and migrates it. Throws `StartupFailure` if it cannot be used. */
export async function openPostgres(url: string, poolSize: number): Promise<PostgresStorage> {
  await atDatabase(url, (db, schema) => migratePostgres(db, migrations, schema))
  return new PostgresStorage(url, poolSize)
}

/** Returns the migrations of the database. Only reads. Throws `StartupFailure`. */
export function migrationsOfPostgres(url: string): Promise<MigrationState[]> {
  return atDatabase(url, (db, schema) => statesOf(db, migrations, schema))
}

/** Runs `work` on a separate connection without a statement timeout. `schema` is where tables are created. */
export async function atDatabase<T>(url: string, work: (db: Kysely<never>, schema: string) => Promise<T>): Promise<T> {
  const patient = { connectionTimeoutMillis: startTimeoutMs, ...unlimited }
  const pool = new pg.Pool({ ...settingsOf(url), ...patient, max: 1 })
  pool.on('error', () => undefined)
  try {
    const { rows } = await pool.query<Server>(
      `select current_setting('server_version_num')::integer / 10000 as version,
        current_setting('server_encoding') as encoding, coalesce(current_schema(), '') as schema`,
    )
    const server = rows[0] as Server
    const fault = faultOf(server)
    if (fault !== null) throw new StartupFailure(fault)
    return await work(new Kysely<never>({ dialect: new MigrationDialect({ pool }) }), server.schema)
  } catch (error) {
    const cause = error instanceof StartupFailure ? error.cause : error
    const isSaid = error instanceof StartupFailure && stateOf(cause) !== insufficientPrivilege
    throw isSaid ? error : new StartupFailure(reason(url, cause))
  } finally {
    await pool.end()
  }
}

/** The lock of Kysely's migrator. */
const migratorLock = 3853314791062309107n

/** Migrates in one transaction, unless up to date. Throws `StartupFailure`, or the server's error. */
export async function migratePostgres(db: Kysely<never>, migrations: Migrations, schema: string): Promise<void> {
  if ((await statesOf(db, migrations, schema)).every(({ isApplied }) => isApplied)) return
  await db.transaction().execute(async (transaction) => {
    // A pooler hides the settings of the connection, so limits of the role or the database would apply.
    await sql`set local statement_timeout = 0`.execute(transaction)
    await sql`set local lock_timeout = 0`.execute(transaction)
    await sql`select pg_advisory_xact_lock(${sql.lit(migratorLock)})`.execute(transaction)
    // If the user may not create tables, this fails with the reason. Kysely would only report an aborted transaction.
    await sql`create table waymark_trial ()`.execute(transaction)
    await sql`drop table waymark_trial`.execute(transaction)
    await migrate(transaction, migrations, schema)
  })
}

/** Kysely's own lock belongs to the session, so it would stay on a connection that a pooler shares. */
class LocklessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

class MigrationDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new LocklessAdapter()
  }
}

interface Server {
  readonly version: number
  readonly encoding: string
  readonly schema: string
}

const minVersion = 14

/** Returns why Waymark cannot use the database, in a sentence; null if it can. */
export function faultOf({ version, encoding }: Omit<Server, 'schema'>): string | null {
  if (version < minVersion) return `The database is PostgreSQL ${version}. Waymark requires ${minVersion} or newer.`
  if (encoding === 'UTF8') return null
  return `The database encoding is ${encoding}. Create a UTF-8 database: create database … encoding 'UTF8' template template0.`
}

function reason(url: string, error: unknown): string {
  const place = placeOfPostgres(url)
  const { message, code, syscall, path } = error as NodeJS.ErrnoException
  if (untrusted.test(code ?? '')) {
    return `The database ${place} has a TLS certificate that this machine doesn't trust (${code}). Add sslrootcert=FILE with its CA certificate to DATABASE_URL.`
  }
  if (syscall === 'open') return `DATABASE_URL names a file that can't be read: ${path} (${code}).`
  const [, rejected] = /^unsupported startup parameter(?: in options)?: ([\w.]+)$/.exec(message) ?? []
  if (rejected !== undefined) return formatRejectedParameter(place, rejected)
  if (/client password must be/.test(message)) {
    return `The database ${place} requires a password. Add it to DATABASE_URL, or set PGPASSWORD.`
  }
  return (
    explanations[stateOf(error)]?.(place) ??
    `Can't connect to the database ${place}: ${message || code}. Check DATABASE_URL, and that the database is running.`
  )
}

/** Formats the error of PgBouncer, which rejects parameters of a connection that it can't keep track of. */
function formatRejectedParameter(place: string, name: string): string {
  if (ownLimits.includes(name)) {
    return `The pooler at ${place} rejects Waymark's timeouts. Add this line to pgbouncer.ini: ignore_startup_parameters = ${ownLimits.join()}`
  }
  return `The pooler at ${place} rejects the parameter ${name}. Remove it from DATABASE_URL, or add it to ignore_startup_parameters in pgbouncer.ini.`
}

const ownLimits = ['statement_timeout', 'idle_in_transaction_session_timeout']

/** OpenSSL's codes for untrusted certificate chains. */
const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF).*)$/

const explanations: Readonly<Record<string, (place: string) => string>> = {
  '28P01': (place) => `The database ${place} rejects the user or the password. Check DATABASE_URL.`,
  '28000': (place) => `The database ${place} rejects the user. Check DATABASE_URL, and pg_hba.conf on the server.`,
  '3D000': (place) => `The database ${place} doesn't exist. Create it with createdb, or check DATABASE_URL.`,
  '25006': (place) =>
    `The database ${place} is read-only, probably a standby. Migrations require the primary: set DATABASE_URL to its address.`,
  [insufficientPrivilege]: (place) =>
    `The user isn't allowed to create tables in the database ${place}. Make the user its owner (createdb --owner=USER), or grant it CREATE on a schema.`,
}
