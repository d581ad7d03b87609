import type { Selectable } from 'kysely'
import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { query, type SessionsTable } from '../storage/schema.ts'
import { generateToken, hashToken, isWellFormedToken } from './token.ts'

/** A session as its account sees it, without the secret. Times are RFC 3339 in UTC. */
export interface ListedSession
  extends Readonly<Pick<Selectable<SessionsTable>, 'id' | 'browser' | 'created_at' | 'last_used_at' | 'expires_at'>> {
  /** The name of the key that the session was started with; null if it was started with a sign-in link. */
  readonly key_name: string | null
}

/** An open session with its account. */
export interface Session extends ListedSession {
  readonly account: { readonly id: number; readonly name: string }
}

/** A session that has just begun, with its secret, which is shown this once. */
export interface NewSession {
  readonly id: number
  readonly account_id: number
  readonly secret: string
}

/** How long a sign-in link is good. Milliseconds. */
export const loginLifetimeMs = 30 * 60 * 1_000
/** How long a session lasts, however much it is used. Milliseconds. */
export const sessionLifetimeMs = 30 * 24 * 60 * 60 * 1_000
/** Open sessions of an account; the one that began first ends when another begins. */
export const maxSessions = 500
/** A use within this time of the last one is not written down. Milliseconds. */
const noteUseEveryMs = 5 * 60 * 1_000

/** Makes a token that signs in to the account once, within `lifetimeMs`. Forgets the tokens that have expired. */
export function insertLoginToken(
  db: Db,
  account: number,
  lifetimeMs = loginLifetimeMs,
  now = Date.now(),
): Promise<string> {
  const token = generateToken('login')
  return db.write(async (tx) => {
    await tx.execute(query.deleteFrom('login_tokens').where('expires_at', '<=', timeOf(now)))
    await tx.execute(
      query.insertInto('login_tokens').values({
        hash: hashToken(token),
        account_id: account,
        created_at: timeOf(now),
        expires_at: timeOf(now + lifetimeMs),
      }),
    )
    return token
  })
}

/**
 * Begins a session with the token of a sign-in link, and uses the token up in the same transaction: of requests that bring
 * one token at once, one gets a session. `browser` is what lists call it. Undefined if the token is unknown, used or expired.
 */
export async function signInByToken(
  db: Db,
  token: string,
  browser: string,
  now = Date.now(),
): Promise<NewSession | undefined> {
  if (!isWellFormedToken('login', token)) return undefined
  return db.write(async (tx) => {
    // Where transactions overlap, the second waits and finds no row.
    const [used] = await tx.execute(
      query
        .deleteFrom('login_tokens')
        .where('hash', '=', hashToken(token))
        .where('expires_at', '>', timeOf(now))
        .returning('account_id'),
    )
    return used && begin(tx, { account: used.account_id, key: null, browser, now })
  })
}

/** Begins a session with a good key of the account, which ends with the key. A key of another account opens nothing. */
export function signInByKey(
  db: Db,
  account: number,
  key: number,
  browser: string,
  now = Date.now(),
): Promise<NewSession> {
  return db.write((tx) => begin(tx, { account, key, browser, now }))
}

/**
 * The session that has this secret; undefined if there is none, or it has expired, or its key is revoked or has expired. Not
 * to be called in a transaction: it notes the use, and a use that cannot be written down keeps no one out.
 */
export async function findSession(db: Db, secret: string, now = Date.now()): Promise<Session | undefined> {
  if (!isWellFormedToken('session', secret)) return undefined
  const [row] = await db.execute(
    openAt(now)
      .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
      .select(['sessions.account_id', 'accounts.name as account_name'])
      .where('sessions.hash', '=', hashToken(secret)),
  )
  if (row === undefined) return undefined
  const { account_id, account_name, ...session } = row
  if (now - Date.parse(session.last_used_at) >= noteUseEveryMs) await noteUse(db, account_id, session.id, now)
  return { ...session, account: { id: account_id, name: account_name } }
}

/** The account's open sessions, the one that was used last first. */
export function listSessions(db: Db, account: number, now = Date.now()): Promise<ListedSession[]> {
  return db.execute(
    openAt(now)
      .where('sessions.account_id', '=', account)
      .orderBy('sessions.last_used_at', 'desc')
      .orderBy('sessions.id', 'desc'),
  )
}

/** Selects the sessions that are open at `now`. A session started with a key is open while its account's key is valid. */
function openAt(now: number) {
  return query
    .selectFrom('sessions')
    .leftJoin('keys', (join) =>
      join.onRef('keys.id', '=', 'sessions.key_id').onRef('keys.account_id', '=', 'sessions.account_id'),
    )
    .select([
      'sessions.id',
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

/** Ends a session of the account; false if it has no such session. */
export async function removeSession(db: Db, account: number, id: number): Promise<boolean> {
  const removed = await db.execute(
    query.deleteFrom('sessions').where('id', '=', id).where('account_id', '=', account).returning('id'),
  )
  return removed.length > 0
}

/** Ends all sessions of the account but `except`, or simply all; returns how many. */
export async function removeSessions(db: Db, account: number, except: number | null): Promise<number> {
  // No session has the id 0.
  const others = query
    .deleteFrom('sessions')
    .where('account_id', '=', account)
    .where('id', '<>', except ?? 0)
  return (await db.execute(others.returning('id'))).length
}

interface Beginning {
  readonly account: number
  readonly key: number | null
  readonly browser: string
  readonly now: number
}

/** Starts a session. Deletes expired sessions, and the account's oldest sessions beyond `maxSessions`. */
async function begin(tx: Db, { account, key, browser, now }: Beginning): Promise<NewSession> {
  const secret = generateToken('session')
  await tx.execute(query.deleteFrom('sessions').where('expires_at', '<=', timeOf(now)))
  const own = query.selectFrom('sessions').select('id').where('account_id', '=', account)
  const oldest = query
    .deleteFrom('sessions')
    .where('account_id', '=', account)
    .where(
      'id',
      '<=',
      own
        .orderBy('id', 'desc')
        .limit(1)
        .offset(maxSessions - 1),
    )
  await tx.execute(oldest)
  const [row] = await tx.execute(
    query
      .insertInto('sessions')
      .values({
        account_id: account,
        key_id: key,
        hash: hashToken(secret),
        browser,
        created_at: timeOf(now),
        last_used_at: timeOf(now),
        expires_at: timeOf(now + sessionLifetimeMs),
      })
      .returning('id'),
  )
  return { id: (row as { id: number }).id, account_id: account, secret }
}

async function noteUse(db: Db, account: number, id: number, now: number): Promise<void> {
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
