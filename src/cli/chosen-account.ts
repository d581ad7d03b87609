import { findAccount, listAccounts } from '../accounts/store.ts'
import type { Db } from '../storage/port.ts'
import { WrongUse } from './command.ts'

/** The account that was named, or else the only one. Throws `WrongUse` when there is no such account, or more than one. */
export function chosenAccount(db: Db, named: number | undefined): Promise<number> {
  return named === undefined ? onlyAccount(db) : knownAccount(db, named)
}

/** The account, which must be there. Throws `WrongUse`. */
export async function knownAccount(db: Db, id: number): Promise<number> {
  if ((await findAccount(db, id)) === undefined) throw new WrongUse(`There is no account ${id}.`)
  return id
}

async function onlyAccount(db: Db): Promise<number> {
  const [account, ...others] = await listAccounts(db)
  if (account === undefined) {
    throw new WrongUse('There is no account yet. Make one with "waymark accounts create --name NAME".')
  }
  if (others.length > 0) throw new WrongUse('There is more than one account: say which one with --account ID.')
  return account.id
}
