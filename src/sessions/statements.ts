import type { Generated, Kysely } from 'kysely'
import { insertion, statement } from '../storage/statement.ts'

interface LoginTokensTable {
  hash: Uint8Array
  account_id: number
  created_at: string
  expires_at: string
}

interface SessionsTable {
  id: Generated<number>
  account_id: number
  /** The key that the session began with; null if it began with a sign-in link. */
  key_id: number | null
  hash: Uint8Array
  /** Such as `Firefox on Linux`. */
  browser: string
  created_at: string
  /** Right to within five minutes. */
  last_used_at: string
  expires_at: string
}

interface KeysTable {
  id: number
  account_id: number
  name: string
  expires_at: string | null
  revoked_at: string | null
}

type Tables = {
  login_tokens: LoginTokensTable
  sessions: SessionsTable
  keys: KeysTable
  accounts: { id: number; name: string }
}

/** A session as its account sees it: everything but the secret. Times are RFC 3339 UTC. */
export interface ListedSession
  extends Readonly<Pick<SessionsTable, 'browser' | 'created_at' | 'last_used_at' | 'expires_at'>> {
  readonly id: number
  /** Of the key that it began with, and ends with; null if it began with a sign-in link. */
  readonly key_name: string | null
}

interface NewToken extends Omit<LoginTokensTable, 'account_id'> {
  readonly account: number
}

interface NewSessionRow extends Pick<SessionsTable, 'hash' | 'browser' | 'expires_at'> {
  readonly account: number
  readonly key: number | null
  readonly now: string
}

const columns = [
  ...(['sessions.id', 'keys.name as key_name', 'sessions.browser'] as const),
  ...(['sessions.created_at', 'sessions.last_used_at', 'sessions.expires_at'] as const),
] as const

export const insertToken = statement((db: Kysely<Tables>, { hash, account, created_at, expires_at }: NewToken) =>
  db.insertInto('login_tokens').values({ hash, account_id: account, created_at, expires_at }),
)

/** Returns the token's account, if the token was good. Where transactions overlap, the second waits, and finds no row. */
export const deleteToken = statement((db: Kysely<Tables>, { hash, now }: { hash: Uint8Array; now: string }) =>
  db.deleteFrom('login_tokens').where('hash', '=', hash).where('expires_at', '>', now).returning('account_id'),
)

export const deleteExpiredTokens = statement((db: Kysely<Tables>, { now }: { now: string }) =>
  db.deleteFrom('login_tokens').where('expires_at', '<=', now),
)

export const insertSession = insertion((db: Kysely<Tables>, session: NewSessionRow) =>
  db.insertInto('sessions').values({
    account_id: session.account,
    key_id: session.key,
    hash: session.hash,
    browser: session.browser,
    created_at: session.now,
    last_used_at: session.now,
    expires_at: session.expires_at,
  }),
)

export const selectByHash = statement((db: Kysely<Tables>, { hash, now }: { hash: Uint8Array; now: string }) =>
  open(db, now)
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .select([...columns, 'sessions.account_id', 'accounts.name as account_name'])
    .where('sessions.hash', '=', hash),
)

export const selectByAccount = statement((db: Kysely<Tables>, { account, now }: { account: number; now: string }) =>
  open(db, now)
    .select(columns)
    .where('sessions.account_id', '=', account)
    .orderBy('sessions.last_used_at', 'desc')
    .orderBy('sessions.id', 'desc'),
)

export const touchSession = statement(
  (db: Kysely<Tables>, { account, id, last_used_at }: { account: number; id: number; last_used_at: string }) =>
    db.updateTable('sessions').set({ last_used_at }).where('id', '=', id).where('account_id', '=', account),
)

export const deleteSession = statement((db: Kysely<Tables>, { account, id }: { account: number; id: number }) =>
  db.deleteFrom('sessions').where('id', '=', id).where('account_id', '=', account).returning('id'),
)

export const deleteOtherSessions = statement(
  (db: Kysely<Tables>, { account, except }: { account: number; except: number }) =>
    db.deleteFrom('sessions').where('account_id', '=', account).where('id', '<>', except).returning('id'),
)

export const deleteExpiredSessions = statement((db: Kysely<Tables>, { now }: { now: string }) =>
  db.deleteFrom('sessions').where('expires_at', '<=', now),
)

/** Deletes the account's sessions that began first, but for the `kept` that began last. */
export const deleteOldestSessions = statement(
  (db: Kysely<Tables>, { account, kept }: { account: number; kept: number }) =>
    db
      .deleteFrom('sessions')
      .where('account_id', '=', account)
      .where('id', '<=', ({ selectFrom }) =>
        selectFrom('sessions')
          .select('id')
          .where('account_id', '=', account)
          .orderBy('id', 'desc')
          .limit(1)
          .offset(kept),
      ),
)

/** The sessions that are open at this time. One that began with a key is open for as long as its account's key is good. */
function open(db: Kysely<Tables>, now: string) {
  return db
    .selectFrom('sessions')
    .leftJoin('keys', (join) =>
      join.onRef('keys.id', '=', 'sessions.key_id').onRef('keys.account_id', '=', 'sessions.account_id'),
    )
    .where('sessions.expires_at', '>', now)
    .where((e) =>
      e.or([
        e('sessions.key_id', 'is', null),
        e.and([
          e('keys.id', 'is not', null),
          e('keys.revoked_at', 'is', null),
          e.or([e('keys.expires_at', 'is', null), e('keys.expires_at', '>', now)]),
        ]),
      ]),
    )
}
