import type { Selectable } from 'kysely'
import { notFound } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { type KeysTable, query } from '../storage/schema.ts'
import { generateKey, hashKey } from './key.ts'
import type { Scope } from './scope.ts'

type KeyRow = Selectable<KeysTable>

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
  const insert = query.insertInto('keys').values({
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
  const [row] = await db.execute(insert.returningAll())
  return { key: toKey(row as KeyRow), secret }
}

/** The keys of one account, or of all: for the operator. Oldest first. */
export async function listKeys(db: Db, account: number | null): Promise<Key[]> {
  const found = account === null ? keys : keys.where('account_id', '=', account)
  return (await db.execute(found.orderBy('id'))).map(toKey)
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
  const [row] = await db.execute(keys.where('hash', '=', hash))
  return row && toKey(row)
}

/** A key as its bearer sees it, with its account. */
interface OwnKey extends Pick<Key, 'id' | 'name' | 'scopes' | 'expires_at'> {
  readonly account: { readonly id: number; readonly name: string }
}

/** The account's key with this id. */
export async function findOwnKey(db: Db, account: number, id: number): Promise<OwnKey | undefined> {
  const [row] = await db.execute(
    query
      .selectFrom('keys')
      .innerJoin('accounts', 'accounts.id', 'keys.account_id')
      .select(['keys.id', 'keys.name', 'keys.scopes', 'keys.expires_at', 'accounts.name as account_name'])
      .where('keys.id', '=', id)
      .where('keys.account_id', '=', account),
  )
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
    const expires_at = new Date(now + overlapMs).toISOString()
    await tx.execute(
      query
        .updateTable('keys')
        .set({ expires_at })
        .where('id', '=', id)
        .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', expires_at)])),
    )
    return issued
  })
}

/** Ends a key at once; ending it again changes nothing. Throws `not_found` when there is no such key. */
export function revokeKey(db: Db, id: number): Promise<Key> {
  return db.write(async (tx) => {
    const revoked_at = new Date().toISOString()
    await tx.execute(query.updateTable('keys').set({ revoked_at }).where('id', '=', id).where('revoked_at', 'is', null))
    const [row] = await tx.execute(keys.where('id', '=', id))
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
    for (const [id, last_used_at] of inOrder) {
      await tx.execute(query.updateTable('keys').set({ last_used_at }).where('id', '=', id))
    }
  })
}

async function activeKey(db: Db, id: number, now: number): Promise<KeyRow> {
  const [row] = await db.execute(keys.where('id', '=', id).forUpdate())
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

const keys = query.selectFrom('keys').selectAll()
