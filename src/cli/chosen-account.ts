import { findAccount, listAccounts } from '../accounts/store.ts'
import { StartupFailure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { program, WrongUse } from './command.ts'

/**
 * The account that was named, or else the only one. Throws `StartupFailure` when there is no such account, and `WrongUse`
 * when one has to be named.
 */
export function chosenAccount(db: Db, named: number | undefined): Promise<number> {
  return named === undefined ? onlyAccount(db) : knownAccount(db, named)
}

/** The account with this ID. Throws `StartupFailure` when there is none. */
export async function knownAccount(db: Db, id: number): Promise<number> {
  if ((await findAccount(db, id)) !== undefined) return id
  throw new StartupFailure(`There is no account ${id}. "${program} accounts list" shows the accounts.`)
}

async function onlyAccount(db: Db): Promise<number> {
  const [account, ...others] = await listAccounts(db)
  if (account === undefined) {
    throw new StartupFailure(`There is no account yet. Make one with "${program} accounts create --name NAME".`)
  }
  if (others.length > 0)
    throw new WrongUse(
      'There is more than one account: say which one with --account ID. "npx waymark accounts list" shows them.',
    )
  return account.id
}
