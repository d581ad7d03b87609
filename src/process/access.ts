import type { Logger } from 'pino'
import { systemActor } from '../access/actor.ts'
import { createAccount, listAccounts } from '../accounts/store.ts'
import { generateKey, hashKey } from '../keys/key.ts'
import { createKey, findKeyByHash, keyStatus, listKeys } from '../keys/store.ts'
import { ensureOwner } from '../members/store.ts'
import { insertLoginToken, type MemberId } from '../sessions/store.ts'
import { signInUrl } from '../sessions/token.ts'
import type { Db } from '../storage/port.ts'
import { program } from '../version.ts'

export interface FirstAccess {
  readonly owner: MemberId
  /** The API key with every scope; null if the operator chose the key. */
  readonly secret: string | null
}

/** How the operator can sign in: with the first access, with an `existing` key, or with `none`. */
export type Access = { readonly secret: string | null; readonly signInUrl: string } | 'existing' | 'none'

/** Creates an account, its owner and a key, once even among several processes. Returns undefined if the database has accounts. */
export async function createFirstAccess(db: Db, chosenKey: string | null = null): Promise<FirstAccess | undefined> {
  if (await hasAccounts(db)) return undefined
  const secret = chosenKey ?? generateKey()
  return db.write(async (tx) => {
    if (await hasAccounts(tx)) return undefined
    const { id } = await createAccount(tx, 'First account')
    const system = systemActor(id)
    const owner = await ensureOwner(tx, system)
    await createKey(tx, system, { name: 'First key', scopes: ['*'], lifetimeMs: null }, secret)
    return { owner: { account: id, id: owner }, secret: chosenKey === null ? secret : null }
  }, 'serializable')
}

/** Registers the operator's key at the first start. Later starts only warn if the database does not have the key. */
export async function registerKey(db: Db, key: string | null, logger: Logger): Promise<FirstAccess | undefined> {
  if (key === null) return undefined
  const first = await createFirstAccess(db, key)
  if (first === undefined && (await findKeyByHash(db, hashKey(key))) === undefined) {
    logger.warn(
      `BOOTSTRAP_KEY was not registered, because the database already has an account. Create a key with "${program} keys create", or unset BOOTSTRAP_KEY.`,
    )
  }
  return first
}

/** Returns how the operator can sign in. The first start creates a sign-in link. `base` is the URL of the dashboard. */
export async function findAccess(db: Db, first: FirstAccess | undefined, base: string): Promise<Access> {
  if (first !== undefined) {
    return { secret: first.secret, signInUrl: signInUrl(base, await insertLoginToken(db, first.owner)) }
  }
  const keys = await listKeys(db, null)
  return keys.some((key) => keyStatus(key) === 'active') ? 'existing' : 'none'
}

async function hasAccounts(db: Db): Promise<boolean> {
  return (await listAccounts(db)).length > 0
}
