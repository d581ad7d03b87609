import { sql } from 'kysely'
import { type Role, rolesWithAllScopes } from '../access/roles.ts'
import { Failure, found } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import type { Session, SignInMethod } from './session.ts'
import { generateToken, hashToken, isWellFormedToken, sessionLifetimeMs } from './token.ts'

/** A member of an account. */
export interface MemberId {
  readonly account: number
  readonly id: number
}

/** Lifetime of sign-in links. Milliseconds. */
export const loginLifetimeMs = 30 * 60 * 1_000
/** Maximum number of open sessions per person or key. A new session then ends the oldest of the same person or key. */
export const maxSessions = 100
/** Maximum number of unused sign-in links per account. */
export const maxTokens = 100
/** Uses within this time of the stored use are not stored. Milliseconds. */
const recordUseEveryMs = 5 * 60 * 1_000

/** Creates a token that signs a member in once. Deletes expired tokens, and the account's oldest beyond `maxTokens`. */
export function insertLoginToken(
  db: Db,
  { account, id }: MemberId,
  { lifetimeMs = loginLifetimeMs, now = Date.now() } = {},
): Promise<string> {
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
    await tx.execute(query.deleteFrom('login_tokens').where('expires_at', '<=', formatTime(now)))
    await tx.execute(own.where('created_at', '<=', oldest))
    await tx.execute(
      query.insertInto('login_tokens').values({
        hash: hashToken(token),
        account_id: account,
        member_id: id,
        created_at: formatTime(now),
        expires_at: formatTime(now + lifetimeMs),
      }),
    )
    return token
  })
}

/**
 * Starts a session with a token, and deletes the token. Returns the secret of the session, or undefined if the token is
 * unknown, used or expired.
 */
export async function signInByToken(
  db: Db,
  token: string,
  browser: string,
  now = Date.now(),
): Promise<string | undefined> {
  if (!isWellFormedToken('login', token)) return undefined
  const hash = hashToken(token)
  const members = query.selectFrom('login_tokens').select('member_id').where('hash', '=', hash)
  return db.write(async (tx) => {
    // A removal locks the member first, too: otherwise, each could wait for the other.
    await tx.execute(query.selectFrom('members').select('id').where('id', 'in', members).forNoKeyUpdate())
    // Where transactions overlap, the second waits and finds no row.
    const [used] = await tx.execute(
      query
        .deleteFrom('login_tokens')
        .where('hash', '=', hash)
        .where('expires_at', '>', formatTime(now))
        .returning(['account_id', 'member_id']),
    )
    if (used === undefined) return undefined
    const member = { account: used.account_id, id: used.member_id }
    return signInMember(tx, member, { method: 'link', browser, now })
  })
}

/** How a member has signed in. */
interface SignIn {
  readonly method: Exclude<SignInMethod, 'key'>
  readonly browser: string
  /** The id of the session at the provider of OpenID Connect; null if the provider has none. */
  readonly oidcSid?: string | null
  /** Milliseconds; 30 days by default. */
  readonly lifetimeMs?: number
  readonly now?: number
}

/** Starts a session of a member, and returns its secret, which is not stored. Throws `not_found` if the member is gone. */
export async function signInMember(db: Db, { account, id }: MemberId, signIn: SignIn): Promise<string> {
  const { method, browser, oidcSid = null, lifetimeMs = sessionLifetimeMs, now = Date.now() } = signIn
  const started = { account_id: account, member_id: id, key_id: null, method, oidc_sid: oidcSid, browser }
  return db.write(async (tx) => {
    // Waits for a removal of the member, and lets the next one wait, which then ends the session.
    const seen = query.updateTable('members').set({ last_seen_at: formatTime(now) })
    const own = seen.where('id', '=', id).where('account_id', '=', account)
    const { person_id: person } = found((await tx.execute(own.returning('person_id')))[0], 'member')
    return startSession(tx, { person }, started, now, lifetimeMs)
  })
}

/**
 * Starts a session with one of the account's valid keys, and returns its secret, or undefined if the account doesn't let keys
 * sign in. The session ends when the key is revoked or expires, or when the account no longer lets keys sign in.
 */
export function signInByKey(
  db: Db,
  account: number,
  key: number,
  browser: string,
  now = Date.now(),
): Promise<string | undefined> {
  const started = { account_id: account, member_id: null, key_id: key, method: 'key', oidc_sid: null, browser } as const
  const open = query.selectFrom('accounts').select('id').where('id', '=', account).where('key_sign_in', '=', 1)
  return db.write(async (tx) => {
    // A transaction that turns this off waits, and then ends the session.
    const [isOpen] = await tx.execute(open.forNoKeyUpdate())
    return isOpen && startSession(tx, { account, key }, started, now, sessionLifetimeMs)
  })
}

/** Finds the open session with this secret, and stores its use if possible. Must not run in a transaction. */
export async function findSession(db: Db, secret: string, now = Date.now()): Promise<Session | undefined> {
  if (!isWellFormedToken('session', secret)) return undefined
  const [row] = await db.execute(
    openAt(now)
      .leftJoin('people', 'people.id', 'members.person_id')
      .select(['sessions.account_id', 'accounts.name as account_name', 'accounts.time_zones'])
      .select(['accounts.created_at as account_created_at', 'accounts.key_sign_in', 'keys.name as key_name'])
      .select(['members.name as member_name', 'members.role', 'members.person_id', 'people.time_zone'])
      .select(otherMember.as('other_member'))
      .where('sessions.hash', '=', hashToken(secret)),
  )
  if (row === undefined) return undefined
  const { id, account_id, key_id, key_name, member_id, member_name, role, person_id, time_zone } = row
  if (now - Date.parse(row.last_used_at) >= recordUseEveryMs) await recordUse(db, row, now)
  const { account_name: name, account_created_at: created_at, time_zones } = row
  const hasOtherAccounts = row.other_member !== null
  const person = person_id === null ? null : { id: person_id, timeZone: time_zone, hasOtherAccounts }
  return {
    id,
    method: row.method as SignInMethod,
    account: { id: account_id, name, time_zones, created_at, canKeysSignIn: row.key_sign_in === 1 },
    member:
      member_id === null || person === null
        ? null
        : { id: member_id, name: member_name ?? '', role: role as Role, person },
    key: key_id === null ? null : { id: key_id, name: key_name ?? '' },
  }
}

/** Selects another member that is the same person as `members`. */
const otherMember = query
  .selectFrom('members as others')
  .select((e) => e.fn.min('others.id').as('id'))
  .whereRef('others.person_id', '=', sql.ref('members.person_id'))
  .whereRef('others.id', '<>', sql.ref('members.id'))

/** A session in a list. Times are RFC 3339 in UTC. */
export type ListedSession = Awaited<ReturnType<typeof listSessions>>[number]

/** The owner of sessions: a member in one account, a person in all their accounts, or a key. */
export type SessionOwner =
  | { readonly account: number; readonly member: number }
  | { readonly person: number }
  | { readonly account: number; readonly key: number }

/** Returns the owner of a session. */
export function sessionOwner({ account, member, key }: Pick<Session, 'account' | 'member' | 'key'>): SessionOwner {
  return member === null ? { account: account.id, key: key?.id ?? 0 } : { person: member.person.id }
}

/** Returns the number of unused sign-in links of a member. */
export async function countLoginTokens(db: Db, { account, id }: MemberId, now = Date.now()): Promise<number> {
  const own = query.selectFrom('login_tokens').select('created_at').where('account_id', '=', account)
  return (await db.execute(own.where('member_id', '=', id).where('expires_at', '>', formatTime(now)))).length
}

/** Lists someone's open sessions, most recently used first. */
export function listSessions(db: Db, owner: SessionOwner, now = Date.now()) {
  const open = openAt(now).where(belongsTo(owner))
  return db.execute(open.orderBy('sessions.last_used_at', 'desc').orderBy('sessions.id', 'desc'))
}

/** Selects the open sessions without their secrets. A session started with a key is open while the key can sign in. */
function openAt(now: number) {
  return query
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .leftJoin('members', (join) =>
      join.onRef('members.id', '=', 'sessions.member_id').onRef('members.account_id', '=', 'sessions.account_id'),
    )
    .leftJoin('keys', (join) =>
      join.onRef('keys.id', '=', 'sessions.key_id').onRef('keys.account_id', '=', 'sessions.account_id'),
    )
    .leftJoin('members as creators', 'creators.id', 'keys.member_id')
    .select([
      'sessions.id',
      'sessions.account_id',
      'sessions.member_id',
      'sessions.key_id',
      'sessions.method',
      'sessions.browser',
      'sessions.created_at',
      'sessions.last_used_at',
      'sessions.expires_at',
    ])
    .where('sessions.expires_at', '>', formatTime(now))
    .where((e) =>
      e.or([
        e('members.id', 'is not', null),
        e.and([
          e('accounts.key_sign_in', '=', 1),
          e('keys.id', 'is not', null),
          e('keys.revoked_at', 'is', null),
          // A key has the scope * only as long as its creator's role allows it.
          e.or([e('creators.id', 'is', null), e('creators.role', 'in', rolesWithAllScopes)]),
          e.or([e('keys.expires_at', 'is', null), e('keys.expires_at', '>', formatTime(now))]),
        ]),
      ]),
    )
}

/** Ends one of someone's sessions. Returns false if it does not exist. */
export async function removeSession(db: Db, owner: SessionOwner, id: number): Promise<boolean> {
  const own = query.deleteFrom('sessions').where(belongsTo(owner)).where('id', '=', id)
  return (await db.execute(own.returning('id'))).length > 0
}

/** Ends someone's sessions except `except`, or all if null. Returns the number of those that had not expired. */
export async function removeSessions(
  db: Db,
  owner: SessionOwner,
  except: number | null,
  now = Date.now(),
): Promise<number> {
  // No session has the id 0.
  const others = query
    .deleteFrom('sessions')
    .where(belongsTo(owner))
    .where('id', '<>', except ?? 0)
  const ended = await db.execute(others.returning('expires_at'))
  return ended.filter(({ expires_at }) => expires_at > formatTime(now)).length
}

/** Returns whether a session is someone's. */
function belongsTo(owner: SessionOwner) {
  if ('person' in owner) {
    const members = query.selectFrom('members').select('id').where('person_id', '=', owner.person)
    return sql<boolean>`sessions.member_id in (${members})`
  }
  const [column, id] = 'member' in owner ? ['member_id', owner.member] : ['key_id', owner.key]
  return sql<boolean>`sessions.account_id = ${owner.account} and sessions.${sql.ref(column)} = ${id}`
}

/** Moves a member's session to another account of the same person. Returns false if they are not a member of it. */
export async function switchAccount(db: Db, session: number, person: number, account: number): Promise<boolean> {
  const member = query
    .selectFrom('members')
    .select('id')
    .where('person_id', '=', person)
    .where('account_id', '=', account)
  return db.write(async (tx) => {
    const [target] = await tx.execute(member.forUpdate())
    if (target === undefined) return false
    const own = query.selectFrom('members').select('id').where('person_id', '=', person)
    const moved = query.updateTable('sessions').set({ account_id: account, member_id: target.id })
    const changed = moved.where('id', '=', session).where('member_id', 'in', own).returning('id')
    return (await tx.execute(changed)).length > 0
  })
}

interface NewSession {
  readonly account_id: number
  readonly member_id: number | null
  readonly key_id: number | null
  readonly method: SignInMethod
  readonly oidc_sid: string | null
  readonly browser: string
}

/**
 * Starts a session and returns its secret, which is not stored. Deletes expired sessions, and the owner's oldest sessions
 * beyond `maxSessions`.
 */
async function startSession(
  tx: Db,
  owner: SessionOwner,
  session: NewSession,
  now: number,
  lifetimeMs: number,
): Promise<string> {
  const secret = generateToken('session')
  await tx.execute(query.deleteFrom('sessions').where('expires_at', '<=', formatTime(now)))
  const newest = query.selectFrom('sessions').select('id').where(belongsTo(owner)).orderBy('id', 'desc')
  const oldest = newest.limit(1).offset(maxSessions - 1)
  await tx.execute(query.deleteFrom('sessions').where(belongsTo(owner)).where('id', '<=', oldest))
  await tx.execute(
    query.insertInto('sessions').values({
      ...session,
      hash: hashToken(secret),
      created_at: formatTime(now),
      last_used_at: formatTime(now),
      expires_at: formatTime(now + lifetimeMs),
    }),
  )
  return secret
}

interface UsedSession {
  readonly id: number
  readonly account_id: number
  readonly member_id: number | null
}

async function recordUse(db: Db, { id, account_id, member_id }: UsedSession, now: number): Promise<void> {
  try {
    await db.write(async (tx) => {
      // The member first, as in a removal.
      const seen = query.updateTable('members').set({ last_seen_at: formatTime(now) })
      if (member_id !== null) {
        await tx.execute(seen.where('id', '=', member_id).where('account_id', '=', account_id))
      }
      const used = query.updateTable('sessions').set({ last_used_at: formatTime(now) })
      await tx.execute(used.where('id', '=', id).where('account_id', '=', account_id))
    })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
}

function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
