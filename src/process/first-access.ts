import { createAccount, listAccounts } from '../accounts/store.ts'
import { generateKey, hashKey } from '../keys/key.ts'
import { createKey, findKeyByHash, listKeys, statusOf } from '../keys/store.ts'
import { insertLoginToken } from '../sessions/store.ts'
import type { Db } from '../storage/port.ts'

/** The two ways into an instance that has just been made. */
export interface FirstAccess {
  /** Of an API key with every scope. */
  readonly secret: string
  /** Of a sign-in link. */
  readonly token: string
}

/** Makes an account, a key and a sign-in token when the database is empty, and returns both secrets; else undefined. */
export function makeFirstAccess(db: Db): Promise<FirstAccess | undefined> {
  const secret = generateKey()
  return issueToEmpty(db, secret, async (tx, account) => ({ secret, token: await insertLoginToken(tx, account) }))
}

/**
 * Registers the operator's own key when the database is empty, with an account; later it changes nothing.
 * Returns whether the database knows the key then.
 */
export async function registerBootstrapKey(db: Db, secret: string): Promise<boolean> {
  const isFirst = await issueToEmpty(db, secret, async () => true)
  return isFirst ?? (await findKeyByHash(db, hashKey(secret))) !== undefined
}

/** Whether no key can be used: each is revoked or expired. */
export async function isWithoutKeys(db: Db): Promise<boolean> {
  const keys = await listKeys(db, null)
  return keys.every((key) => statusOf(key) !== 'active')
}

/** Of processes that start at once on one database, one finds it empty. Returns what `more` does with the account. */
async function issueToEmpty<T>(
  db: Db,
  secret: string,
  more: (tx: Db, account: number) => Promise<T>,
): Promise<T | undefined> {
  if (await hasAccounts(db)) return undefined
  return db.write(async (tx) => {
    if (await hasAccounts(tx)) return undefined
    const { id } = await createAccount(tx, 'First account')
    await createKey(tx, { account: id, name: 'First key', scopes: ['*'], lifetimeMs: null }, secret)
    return more(tx, id)
  }, 'serializable')
}

async function hasAccounts(db: Db): Promise<boolean> {
  return (await listAccounts(db)).length > 0
}
