import { createAccount, listAccounts } from '../accounts/store.ts'
import { generateKey, hashKey } from '../keys/key.ts'
import { createKey, findKeyByHash, listKeys, statusOf } from '../keys/store.ts'
import type { Db } from '../storage/port.ts'

/** Makes an account and a key when the database is empty, and returns the key's secret; else undefined. */
export function makeFirstKey(db: Db): Promise<string | undefined> {
  return issueToEmpty(db, generateKey())
}

/**
 * Registers the operator's own key when the database is empty, with an account; later it changes nothing.
 * Returns whether the database knows the key then.
 */
export async function registerBootstrapKey(db: Db, secret: string): Promise<boolean> {
  if ((await issueToEmpty(db, secret)) !== undefined) return true
  return (await findKeyByHash(db, hashKey(secret))) !== undefined
}

/** Whether no key can be used: each is revoked or expired. */
export async function isWithoutKeys(db: Db): Promise<boolean> {
  const keys = await listKeys(db, null)
  return keys.every((key) => statusOf(key) !== 'active')
}

/** Of processes that start at once on one database, one finds it empty. */
async function issueToEmpty(db: Db, secret: string): Promise<string | undefined> {
  if (await hasAccounts(db)) return undefined
  return db.write(async (tx) => {
    if (await hasAccounts(tx)) return undefined
    const account = await createAccount(tx, 'First account')
    await createKey(tx, { account: account.id, name: 'First key', scopes: ['*'], lifetimeMs: null }, secret)
    return secret
  }, 'serializable')
}

async function hasAccounts(db: Db): Promise<boolean> {
  return (await listAccounts(db)).length > 0
}
