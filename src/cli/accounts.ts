import { createAccount, listAccounts } from '../accounts/store.ts'
import { nameOf } from './arguments.ts'
import { type Command, json, jsonOption, program } from './command.ts'
import { table } from './table.ts'

export const accountCommands = {
  create: {
    summary: 'Make an account and print its ID.',
    synopsis: '--name NAME [--json]',
    details: `  --name NAME   its name in lists, 1 to 255 characters
  --json        print the whole record as JSON

It makes the database if there is none, as only it and "${program} migrate" do.`,
    options: { name: { type: 'string' }, ...jsonOption },
    takesOperand: false,
    makesDatabase: true,
    prepare: (given) => {
      const name = nameOf(given)
      return async (db) => {
        const account = await createAccount(db, name)
        return given.values.json ? json(account) : String(account.id)
      }
    },
  },

  list: {
    summary: 'List the accounts.',
    synopsis: '[--json]',
    details: '  --json   print the records as JSON',
    options: jsonOption,
    takesOperand: false,
    makesDatabase: false,
    prepare: (given) => async (db) => {
      const accounts = await listAccounts(db)
      if (given.values.json) return json(accounts)
      const lines = accounts.map(({ id, name, created_at }) => [String(id), name, created_at])
      return table([['ID', 'NAME', 'CREATED'], ...lines])
    },
  },
} as const satisfies Record<string, Command>
