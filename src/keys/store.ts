import type { Generated, Kysely } from 'kysely'
import { notFound } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { statement, toChange } from '../storage/statement.ts'
import { generateKey, hashKey } from './key.ts'
import type { Scope } from './scope.ts'

interface KeysTable {
  id: Generated<number>
  account_id: number
  name: string
  hash: Uint8Array
  /** First and last characters of the secret, for recognition. */
  first_characters: string
  last_characters: string
  scopes: string
  created_at: string
  /** What the key was issued for; a rotation shortens `expires_at` alone. */
  lifetime_ms: number | null
  expires_at: string | null
  revoked_at: string | null
  /** Right to within a minute. */
  last_used_at: string | null
}

type Tables = { keys: KeysTable; accounts: { id: number; name: string } }

const columns = [
  ...(['id', 'account_id', 'name', 'hash', 'first_characters', 'last_characters', 'scopes'] as const),
  ...(['created_at', 'lifetime_ms', 'expires_at', 'revoked_at', 'last_used_at'] as const),
] as const

type KeyRow = Omit<KeysTable, 'id'> & { id: number }

/** A key as the operator sees it: everything but the secret. Times are RFC 3339 UTC. */
export interface Key extends Readonly<Omit<KeyRow, 'hash' | 'lifetime_ms' | 'scopes'>> {
  readonly scopes: readonly Scope[]
}

/** A key and its secret, which is never to be had again. */
export interface IssuedKey {
  readonly key: Key
  readonly secret: string
}

interface NewKey {
  readonly account: number
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Milliseconds from now; null for a key that is good until it is revoked. */
  readonly lifetimeMs: number | null
}

/** Issues a key. `secret` is generated unless the operator brings a well-formed one. */
export async function createKey(db: Db, wanted: NewKey, secret = generateKey()): Promise<IssuedKey> {
  const now = Date.now()
  const { lifetimeMs } = wanted
  const [row] = await db.writeOne(inserted, {
    account_id: wanted.account,
    name: wanted.name,
    hash: hashKey(secret),
    first_characters: secret.slice(0, 7),
    last_characters: secret.slice(-4),
    scopes: wanted.scopes.join(' '),
    created_at: new Date(now).toISOString(),
    lifetime_ms: lifetimeMs,
    expires_at: lifetimeMs === null ? null : new Date(now + lifetimeMs).toISOString(),
  })
  return { key: toKey(row as KeyRow), secret }
}

/** The keys of one account, or of all: for the operator. Oldest first. */
export async function listKeys(db: Db, account: number | null): Promise<Key[]> {
  const rows = account === null ? await db.all(everyKey, {}) : await db.all(keysOfAccount, { account })
  return rows.map(toKey)
}

/** Whether a key can be used at the moment `now`, in Unix milliseconds. */
export function statusOf(
  { revoked_at, expires_at }: Pick<Key, 'revoked_at' | 'expires_at'>,
  now = Date.now(),
): 'active' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active'
}

/** The key with this hash. */
export async function findKeyByHash(db: Db, hash: Uint8Array): Promise<Key | undefined> {
  const [row] = await db.all(keyByHash, { hash })
  return row && toKey(row)
}

/** A key as its bearer sees it, with its account. */
interface OwnKey extends Pick<Key, 'id' | 'name' | 'scopes' | 'expires_at'> {
  readonly account: { readonly id: number; readonly name: string }
}

/** The account's key with this id. */
export async function findOwnKey(db: Db, account: number, id: number): Promise<OwnKey | undefined> {
  const [row] = await db.all(keyWithAccount, { account, id })
  if (row === undefined) return undefined
  const { account_name, ...key } = row
  return { ...key, scopes: scopesOf(row), account: { id: account, name: account_name } }
}

/**
 * Issues a key like key `id`, with the lifetime that key was issued with, and ends the old one at `overlapMs` from now if
 * it would live longer. As long as the old one lives it may be rotated again, which issues one more key and never lets
 * the old one live longer. Throws `not_found` when there is no such key, or it is revoked or expired already.
 */
export function rotateKey(db: Db, id: number, overlapMs: number): Promise<IssuedKey> {
  return db.write(async (tx) => {
    const now = Date.now()
    const old = await activeKey(tx, id, now)
    const issued = await createKey(tx, {
      account: old.account_id,
      name: old.name,
      scopes: scopesOf(old),
      lifetimeMs: old.lifetime_ms,
    })
    await tx.all(ended, { id, expires_at: new Date(now + overlapMs).toISOString() })
    return issued
  })
}

/** Ends a key at once; ending it again changes nothing. Throws `not_found` when there is no such key. */
export function revokeKey(db: Db, id: number): Promise<Key> {
  return db.write(async (tx) => {
    await tx.all(revoked, { id, revoked_at: new Date().toISOString() })
    const [row] = await tx.all(keyById, { id })
    if (row === undefined) throw notFound('key')
    return toKey(row)
  })
}

/** Ends the account's key at once; ending it again changes nothing. Throws `not_found` when the account has no such key. */
export async function revokeOwnKey(db: Db, account: number, id: number): Promise<Key> {
  return db.write(async (tx) => {
    if ((await findOwnKey(tx, account, id)) === undefined) throw notFound('key')
    return revokeKey(tx, id)
  })
}

/** Notes when keys were last used. */
export function noteUses(db: Db, uses: ReadonlyMap<number, string>): Promise<void> {
  // In one order everywhere, so that no two processes wait for each other.
  const inOrder = [...uses].sort(([a], [b]) => a - b)
  return db.write(async (tx) => {
    for (const [id, last_used_at] of inOrder) await tx.all(used, { id, last_used_at })
  })
}

async function activeKey(db: Db, id: number, now: number): Promise<KeyRow> {
  const [row] = await db.all(keyByIdToChange, { id })
  if (row === undefined) throw notFound('key')
  if (statusOf(row, now) !== 'active') throw notFound('active key: that one is revoked or has expired')
  return row
}

function toKey(row: KeyRow): Key {
  const { hash: _, lifetime_ms: __, ...shown } = row
  return { ...shown, scopes: scopesOf(row) }
}

function scopesOf({ scopes }: Pick<KeyRow, 'scopes'>): Scope[] {
  return scopes.split(' ') as Scope[]
}

type Insert = Omit<KeysTable, 'id' | 'revoked_at' | 'last_used_at'>

const inserted = statement((db: Kysely<Tables>, key: Insert) =>
  db
    .insertInto('keys')
    .values({
      account_id: key.account_id,
      name: key.name,
      hash: key.hash,
      first_characters: key.first_characters,
      last_characters: key.last_characters,
      scopes: key.scopes,
      created_at: key.created_at,
      lifetime_ms: key.lifetime_ms,
      expires_at: key.expires_at,
    })
    .returning(columns),
)

const everyKey = statement((db: Kysely<Tables>) => db.selectFrom('keys').select(columns).orderBy('id'))

const keysOfAccount = statement((db: Kysely<Tables>, { account }: { account: number }) =>
  db.selectFrom('keys').select(columns).where('account_id', '=', account).orderBy('id'),
)

const keyById = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db.selectFrom('keys').select(columns).where('id', '=', id),
)

const keyByIdToChange = toChange(keyById)

const keyByHash = statement((db: Kysely<Tables>, { hash }: { hash: Uint8Array }) =>
  db.selectFrom('keys').select(columns).where('hash', '=', hash),
)

const keyWithAccount = statement((db: Kysely<Tables>, { account, id }: { account: number; id: number }) =>
  db
    .selectFrom('keys')
    .innerJoin('accounts', 'accounts.id', 'keys.account_id')
    .select(['keys.id', 'keys.name', 'keys.scopes', 'keys.expires_at', 'accounts.name as account_name'])
    .where('keys.id', '=', id)
    .where('keys.account_id', '=', account),
)

const ended = statement((db: Kysely<Tables>, { id, expires_at }: { id: number; expires_at: string }) =>
  db
    .updateTable('keys')
    .set({ expires_at })
    .where('id', '=', id)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', expires_at)])),
)

const revoked = statement((db: Kysely<Tables>, { id, revoked_at }: { id: number; revoked_at: string }) =>
  db.updateTable('keys').set({ revoked_at }).where('id', '=', id).where('revoked_at', 'is', null),
)

const used = statement((db: Kysely<Tables>, { id, last_used_at }: { id: number; last_used_at: string }) =>
  db.updateTable('keys').set({ last_used_at }).where('id', '=', id),
)
