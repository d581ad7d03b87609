import { createAccount, findAccount, listAccounts } from '../accounts/store.ts'
import { StartupFailure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { flag, program, recordName, required, WrongUse } from './arguments.ts'
import { recordCommand } from './command.ts'
import { json, table } from './output.ts'

export const accountCommands = {
  create: recordCommand({
    summary: 'Create an account and print its ID.',
    arguments: {
      name: required('NAME', 'its name in lists, 1 to 255 characters', recordName),
      json: flag('print the whole record as JSON'),
    },
    notes: `Creates the database if there is none, as only this command and "${program} migrate" do.`,
    createsDatabase: true,
    run: async (db, { name, json: isJson }) => {
      const account = await createAccount(db, name)
      return isJson ? json(account) : String(account.id)
    },
  }),

  list: recordCommand({
    summary: 'List the accounts.',
    arguments: { json: flag('print the records as JSON') },
    run: async (db, { json: isJson }) => {
      const accounts = await listAccounts(db)
      if (isJson) return json(accounts)
      const lines = accounts.map(({ id, name, created_at }) => [String(id), name, created_at])
      return table([['ID', 'NAME', 'CREATED'], ...lines])
    },
  }),
}

/** Returns this account's ID, by default that of the only account. Throws `StartupFailure` or `WrongUse` otherwise. */
export async function chooseAccount(db: Db, id: number | undefined): Promise<number> {
  if (id !== undefined) return existingAccount(db, id)
  const [account, ...others] = await listAccounts(db)
  if (account === undefined) {
    throw new StartupFailure(`There is no account yet. Create one with "${program} accounts create --name NAME".`)
  }
  if (others.length === 0) return account.id
  throw new WrongUse(
    `There is more than one account. Choose one with --account ID. "${program} accounts list" shows them.`,
  )
}

/** Returns the ID if the account exists. Throws `StartupFailure` otherwise. */
export async function existingAccount(db: Db, id: number): Promise<number> {
  if ((await findAccount(db, id)) !== undefined) return id
  throw new StartupFailure(`There is no account ${id}. "${program} accounts list" shows the accounts.`)
}
