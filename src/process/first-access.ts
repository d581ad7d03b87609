import { createAccount, listAccounts } from '../accounts/store.ts'
import { generateKey, hashKey } from '../keys/key.ts'
import { createKey, findKeyByHash, listKeys, statusOf } from '../keys/store.ts'
import type { Db } from '../storage/port.ts'

/** The account of an instance that has just been made. */
export interface FirstAccess {
  readonly account: number
  /** Its API key with every scope; null for the operator's own, which is not to be shown. */
  readonly secret: string | null
}

/**
 * Makes an account and a key when the database is empty; else undefined. The key is the operator's own, if there is one. Of
 * processes that start at once on one database, one finds it empty.
 */
export async function makeFirstAccess(db: Db, ownKey: string | null = null): Promise<FirstAccess | undefined> {
  if (await hasAccounts(db)) return undefined
  const secret = ownKey ?? generateKey()
  return db.write(async (tx) => {
    if (await hasAccounts(tx)) return undefined
    const { id } = await createAccount(tx, 'First account')
    await createKey(tx, { account: id, name: 'First key', scopes: ['*'], lifetimeMs: null }, secret)
    return { account: id, secret: ownKey === null ? secret : null }
  }, 'serializable')
}

/** Whether the database has this key, good or not. */
export async function isKnownKey(db: Db, secret: string): Promise<boolean> {
  return (await findKeyByHash(db, hashKey(secret))) !== undefined
}

/** Whether no key can be used: each is revoked or expired. */
export async function isWithoutKeys(db: Db): Promise<boolean> {
  const keys = await listKeys(db, null)
  return keys.every((key) => statusOf(key) !== 'active')
}

async function hasAccounts(db: Db): Promise<boolean> {
  return (await listAccounts(db)).length > 0
}
