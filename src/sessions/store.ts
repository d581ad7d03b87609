import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { generateToken, hashToken, isWellFormedToken, sessionLifetimeMs } from './token.ts'

/** An open session with its account. */
export type Session = NonNullable<Awaited<ReturnType<typeof findSession>>>

/** Default lifetime of sign-in links. Milliseconds. */
export const loginLifetimeMs = 30 * 60 * 1_000
/** Maximum number of open sessions per account. A new session then ends the oldest. */
export const maxSessions = 500
/** Maximum number of unused sign-in links per account. */
export const maxTokens = 100
/** Uses within this time of the stored use are not stored. Milliseconds. */
const recordUseEveryMs = 5 * 60 * 1_000

interface LoginOptions {
  /** The person's name, which their session gets, too. */
  readonly name?: string | null
  /** The session that creates the link. The link is valid only while this session is open. */
  readonly session?: number | null
  /** Milliseconds. */
  readonly lifetimeMs?: number
  readonly now?: number
}

/** Creates a token that signs in to the account once. Deletes expired tokens, and the account's oldest beyond `maxTokens`. */
export function insertLoginToken(db: Db, account: number, options: LoginOptions = {}): Promise<string> {
  const { name = null, session = null, lifetimeMs = loginLifetimeMs, now = Date.now() } = options
  const token = generateToken('login')
  return db.write(async (tx) => {
    const own = query.deleteFrom('login_tokens').where('account_id', '=', account)
    const oldest = query
      .selectFrom('login_tokens')
      .select('created_at')
      .where('account_id', '=', account)
      .orderBy('created_at', 'desc')
      .limit(1)
      .offset(maxTokens - 1)
    await tx.execute(query.deleteFrom('login_tokens').where('expires_at', '<=', timeOf(now)))
    await tx.execute(own.where('created_at', '<=', oldest))
    await tx.execute(
      query.insertInto('login_tokens').values({
        hash: hashToken(token),
        account_id: account,
        name,
        session_id: session,
        created_at: timeOf(now),
        expires_at: timeOf(now + lifetimeMs),
      }),
    )
    return token
  })
}

/**
 * Starts a session with a token, and deletes the token. Returns the secret of the session, or undefined if the token is
 * unknown, used or expired, or if the session that created it has ended.
 */
export async function signInByToken(
  db: Db,
  token: string,
  browser: string,
  now = Date.now(),
): Promise<string | undefined> {
  if (!isWellFormedToken('login', token)) return undefined
  return db.write(async (tx) => {
    // Where transactions overlap, the second waits and finds no row.
    const [used] = await tx.execute(
      query
        .deleteFrom('login_tokens')
        .where('hash', '=', hashToken(token))
        .where('expires_at', '>', timeOf(now))
        .returning(['account_id', 'name', 'session_id']),
    )
    if (used === undefined) return undefined
    const { account_id, name, session_id } = used
    if (session_id !== null && !(await isOpen(tx, account_id, session_id, now))) return undefined
    return startSession(tx, account_id, { key: null, name, browser, now })
  })
}

/**
 * Starts a session with one of the account's valid keys, and returns its secret. The session ends when the key is revoked
 * or expires.
 */
export function signInByKey(db: Db, account: number, key: number, browser: string, now = Date.now()): Promise<string> {
  return db.write((tx) => startSession(tx, account, { key, name: null, browser, now }))
}

async function isOpen(tx: Db, account: number, session: number, now: number): Promise<boolean> {
  const own = openAt(now).where('sessions.id', '=', session).where('sessions.account_id', '=', account)
  return (await tx.execute(own)).length > 0
}

/** Finds the open session with this secret, and stores its use if possible. Must not run in a transaction. */
export async function findSession(db: Db, secret: string, now = Date.now()) {
  if (!isWellFormedToken('session', secret)) return undefined
  const [row] = await db.execute(
    openAt(now)
      .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
      .select(['sessions.account_id', 'accounts.name as account_name', 'accounts.time_zones'])
      .select('accounts.created_at as account_created_at')
      .where('sessions.hash', '=', hashToken(secret)),
  )
  if (row === undefined) return undefined
  const { account_id, account_name, account_created_at, time_zones, ...session } = row
  if (now - Date.parse(session.last_used_at) >= recordUseEveryMs) await recordUse(db, account_id, session.id, now)
  return { ...session, account: { id: account_id, name: account_name, time_zones, created_at: account_created_at } }
}

/** Lists the account's open sessions, most recently used first. Times are RFC 3339 in UTC. */
export function listSessions(db: Db, account: number, now = Date.now()) {
  return db.execute(
    openAt(now)
      .where('sessions.account_id', '=', account)
      .orderBy('sessions.last_used_at', 'desc')
      .orderBy('sessions.id', 'desc'),
  )
}

/** Selects the open sessions without their secrets. A session started with a key is open while the key is valid. */
function openAt(now: number) {
  return query
    .selectFrom('sessions')
    .leftJoin('keys', (join) =>
      join.onRef('keys.id', '=', 'sessions.key_id').onRef('keys.account_id', '=', 'sessions.account_id'),
    )
    .select([
      'sessions.id',
      'sessions.name',
      'sessions.key_id',
      'keys.name as key_name',
      'sessions.browser',
      'sessions.created_at',
      'sessions.last_used_at',
      'sessions.expires_at',
    ])
    .where('sessions.expires_at', '>', timeOf(now))
    .where((e) =>
      e.or([
        e('sessions.key_id', 'is', null),
        e.and([
          e('keys.id', 'is not', null),
          e('keys.revoked_at', 'is', null),
          e.or([e('keys.expires_at', 'is', null), e('keys.expires_at', '>', timeOf(now))]),
        ]),
      ]),
    )
}

/** Ends one of the account's sessions. Returns false if it does not exist. */
export async function removeSession(db: Db, account: number, id: number): Promise<boolean> {
  const removed = await db.execute(
    query.deleteFrom('sessions').where('id', '=', id).where('account_id', '=', account).returning('id'),
  )
  return removed.length > 0
}

/** Ends the account's sessions except `except`, or all if null. Returns their number. */
export async function removeSessions(db: Db, account: number, except: number | null): Promise<number> {
  // No session has the id 0.
  const others = query
    .deleteFrom('sessions')
    .where('account_id', '=', account)
    .where('id', '<>', except ?? 0)
  return (await db.execute(others.returning('id'))).length
}

interface StartOptions {
  readonly key: number | null
  readonly name: string | null
  readonly browser: string
  readonly now: number
}

/**
 * Starts a session and returns its secret, which is not stored. Deletes expired sessions, and the account's oldest sessions
 * beyond `maxSessions`.
 */
async function startSession(tx: Db, account: number, { key, name, browser, now }: StartOptions): Promise<string> {
  const secret = generateToken('session')
  await tx.execute(query.deleteFrom('sessions').where('expires_at', '<=', timeOf(now)))
  const oldest = query
    .selectFrom('sessions')
    .select('id')
    .where('account_id', '=', account)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(maxSessions - 1)
  await tx.execute(query.deleteFrom('sessions').where('account_id', '=', account).where('id', '<=', oldest))
  await tx.execute(
    query.insertInto('sessions').values({
      account_id: account,
      key_id: key,
      hash: hashToken(secret),
      name,
      browser,
      created_at: timeOf(now),
      last_used_at: timeOf(now),
      expires_at: timeOf(now + sessionLifetimeMs),
    }),
  )
  return secret
}

async function recordUse(db: Db, account: number, id: number, now: number): Promise<void> {
  try {
    const used = query.updateTable('sessions').set({ last_used_at: timeOf(now) })
    await db.execute(used.where('id', '=', id).where('account_id', '=', account))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
