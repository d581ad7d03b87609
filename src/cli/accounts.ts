import { userInfo } from 'node:os'
import { type Actor, commandActor } from '../access/actor.ts'
import { createAccount, findAccount, listAccounts } from '../accounts/store.ts'
import { StartupFailure } from '../errors.ts'
import { textWarnings } from '../names/suspicious-values.ts'
import type { Db, Storage } from '../storage/port.ts'
import { program } from '../version.ts'
import { account, flag, optional, recordName, required, timeZone, WrongUse } from './arguments.ts'
import {
  type Arguments,
  type Command,
  type Declared,
  type Printed,
  recordCommand,
  type Terminal,
  type Values,
} from './command.ts'
import { json, table, writeWarnings } from './output.ts'

export const accountCommands = {
  create: recordCommand({
    summary: 'Create an account and print its ID.',
    arguments: {
      name: required('NAME', 'its name, 1 to 255 characters', recordName),
      'time-zone': optional('ZONE', 'its time zone, such as Europe/Berlin (default: UTC)', timeZone),
      json: flag('print the full record as JSON'),
    },
    notes: `Like "${program} start" and "${program} migrate", this command creates the database if it doesn't exist.`,
    createsDatabase: true,
    run: async (db, { name, 'time-zone': zone, json: isJson }, terminal) => {
      const account = await createAccount(db, name, zone)
      writeWarnings(terminal, textWarnings('name', name))
      return isJson ? json(account) : String(account.id)
    },
  }),

  list: recordCommand({
    summary: 'List the accounts.',
    arguments: { json: flag('print the records as JSON') },
    run: async (db, { json: isJson }) => {
      const accounts = await listAccounts(db)
      if (isJson) return json(accounts)
      const lines = accounts.map(({ id, name, time_zone, created_at }) => [String(id), name, time_zone, created_at])
      return table([['ID', 'NAME', 'TIME ZONE', 'CREATED'], ...lines])
    },
  }),
}

/** Returns the operator who runs this command on an account, by their user name on this machine. */
export function operator(account: number): Actor {
  return commandActor(account, userName())
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user without a name.
    return 'Command line'
  }
}

/** Declares a command of the operator on the records of an account, with an option for the account. */
export function accountCommand<const A extends Arguments>(
  declared: Declared<A> & {
    readonly run: (db: Storage, values: Values<A>, actor: Actor, terminal: Terminal) => Printed
  },
): Command {
  return recordCommand({
    ...declared,
    arguments: { ...declared.arguments, account },
    run: async (db, values, terminal) => {
      const given = values as Values<A> & { readonly account?: number }
      return declared.run(db, given, operator(await chooseAccount(db, given.account)), terminal)
    },
  })
}

/** Returns this account's ID, by default the only one. Throws `StartupFailure` or `WrongUse` otherwise. */
export async function chooseAccount(db: Db, id: number | undefined): Promise<number> {
  if (id !== undefined) return existingAccount(db, id)
  const [account, ...others] = await listAccounts(db)
  if (account === undefined) {
    throw new StartupFailure(
      `The database has no accounts yet. Create one with "${program} accounts create --name NAME".`,
    )
  }
  if (others.length === 0) return account.id
  throw new WrongUse(
    `The database has several accounts. Choose one with --account ID. To see them, run "${program} accounts list".`,
  )
}

/** Returns the ID if the account exists. Throws `StartupFailure` otherwise. */
export async function existingAccount(db: Db, id: number): Promise<number> {
  if ((await findAccount(db, id)) !== undefined) return id
  throw new StartupFailure(`Account ${id} doesn't exist. To see all accounts, run "${program} accounts list".`)
}
