import { Failure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import {
  deleteExpiredSessions,
  deleteExpiredTokens,
  deleteOldestSessions,
  deleteOtherSessions,
  deleteSession,
  deleteToken,
  insertSession,
  insertToken,
  type ListedSession,
  selectByAccount,
  selectByHash,
  touchSession,
} from './statements.ts'
import { generateToken, hashToken, isWellFormedToken } from './token.ts'

/** An open session, and whose it is. */
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
    await tx.all(deleteExpiredTokens, { now: timeOf(now) })
    const times = { created_at: timeOf(now), expires_at: timeOf(now + lifetimeMs) }
    await tx.all(insertToken, { hash: hashToken(token), account, ...times })
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
    const [used] = await tx.all(deleteToken, { hash: hashToken(token), now: timeOf(now) })
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
  const [row] = await db.all(selectByHash, { hash: hashToken(secret), now: timeOf(now) })
  if (row === undefined) return undefined
  const { account_id, account_name, ...session } = row
  if (now - Date.parse(session.last_used_at) >= noteUseEveryMs) await noteUse(db, account_id, session.id, now)
  return { ...session, account: { id: account_id, name: account_name } }
}

/** The account's open sessions, the one that was used last first. */
export function listSessions(db: Db, account: number, now = Date.now()): Promise<ListedSession[]> {
  return db.all(selectByAccount, { account, now: timeOf(now) })
}

/** Ends a session of the account; false if it has no such session. */
export async function removeSession(db: Db, account: number, id: number): Promise<boolean> {
  return (await db.writeOne(deleteSession, { account, id })).length > 0
}

/** Ends all sessions of the account but `except`, or simply all; returns how many. */
export async function removeSessions(db: Db, account: number, except: number | null): Promise<number> {
  // No session has the id 0.
  return (await db.writeOne(deleteOtherSessions, { account, except: except ?? 0 })).length
}

interface Beginning {
  readonly account: number
  readonly key: number | null
  readonly browser: string
  readonly now: number
}

/** Also forgets the sessions that have expired, and those beyond `maxSessions`. */
async function begin(tx: Db, { account, key, browser, now }: Beginning): Promise<NewSession> {
  const secret = generateToken('session')
  await tx.all(deleteExpiredSessions, { now: timeOf(now) })
  await tx.all(deleteOldestSessions, { account, kept: maxSessions - 1 })
  const times = { now: timeOf(now), expires_at: timeOf(now + sessionLifetimeMs) }
  const [row] = await tx.all(insertSession, { account, key, hash: hashToken(secret), browser, ...times })
  return { id: (row as { id: number }).id, account_id: account, secret }
}

async function noteUse(db: Db, account: number, id: number, now: number): Promise<void> {
  try {
    await db.writeOne(touchSession, { account, id, last_used_at: timeOf(now) })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
