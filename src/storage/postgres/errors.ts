import pg from 'pg'
import {
  type DatabaseTrouble,
  databaseUnavailable,
  Failure,
  ForeignKeyViolation,
  transactionRolledBack,
  UniqueViolation,
} from '../../errors.ts'

/**
 * SQLSTATEs that mean that the database is unavailable, not that the program is wrong. Classes: lost connections (08),
 * rejected logins (28), exhausted resources (53), shutdowns and timeouts (57), system errors (58). Single codes: missing
 * database, standby, idle transaction, damaged data.
 */
const unavailable = /^(08|28|53|57|58|3D000$|25006$|25P0[34]$|XX00[12]$)/
/** Serialization failure, deadlock, unavailable lock, and a statement that ran for too long or was cancelled. */
const rolledBack = /^(40001|40P01|55P03|57014)$/

/** Converts an error of a query to `database_unavailable`, `ForeignKeyViolation` or `UniqueViolation`, or returns it unchanged. */
export function translated(error: unknown): unknown {
  const state = readSqlState(error)
  if (/^23(001|503)$/.test(state)) return new ForeignKeyViolation((error as pg.DatabaseError).constraint ?? null, error)
  if (state === '23505') return new UniqueViolation(error)
  if (isMixUp(error)) {
    return new Failure('database_unavailable', sharedConnections, { retryAfter: 1, cause: error })
  }
  if (rolledBack.test(state)) return transactionRolledBack(error)
  return isOfConnection(error) || unavailable.test(state) ? databaseUnavailable(error, reasons[state]) : error
}

/** Connections prepare each name once, so 42P05 and 26000 mean that processes share server connections. */
export function isMixUp(error: unknown): boolean {
  return /^(42P05|26000)$/.test(readSqlState(error))
}

export const sharedConnections =
  'The pooler in front of the database mixes up prepared statements of different clients. Transaction mode requires PgBouncer 1.21 or newer with max_prepared_statements = 200.'

const reasons: Readonly<Record<string, DatabaseTrouble>> = {
  '25006': 'read_only',
  '53100': 'disk_full',
  XX001: 'database_corrupt',
  XX002: 'database_corrupt',
}

/** Returns whether the server aborted the transaction for a concurrent one (40001, 40P01), so that a retry may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  return /^40(001|P01)$/.test(readSqlState(findCause(error)))
}

/** Returns whether to replace the connection: it is lost, shutting down, or read-only after a failover. */
export function isBroken(error: unknown): boolean {
  const cause = findCause(error)
  return isReadOnly(error) || isOfConnection(cause) || /^57P0[1-3]$/.test(readSqlState(cause))
}

export function isReadOnly(error: unknown): boolean {
  return error instanceof Failure && error.facts.reason === 'read_only'
}

/** Returns whether an error is about the connection: errors of `pg` and sockets are plain errors, unlike errors of the server. */
function isOfConnection(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error
}

export const insufficientPrivilege = '42501'

/** Returns the SQLSTATE of a server error; '' for other errors. */
export function readSqlState(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : ''
}

/** Returns the engine's error that caused a failure. */
function findCause(error: unknown): unknown {
  return error instanceof Failure ? error.facts.cause : error
}
