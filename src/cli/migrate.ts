import { migrationsAt, openStorage, type StorageLocation } from '../storage/open.ts'
import { type Command, json, jsonOption, type Printed } from './command.ts'
import { table } from './table.ts'

export const migrateCommand: Command = {
  summary: "Bring the database to this version's schema, or say whether it has it.",
  synopsis: '[--status] [--json]',
  details: `  --status   change nothing: list the migrations; the exit code is 1 when any is pending
  --json     print the migrations as JSON

The server migrates when it starts. To migrate before that, run this with the new version.`,
  options: { status: { type: 'boolean' }, ...jsonOption },
  takesOperand: false,
  prepareAt: ({ values }) => {
    const print = values.json ? json : listed
    return values.status ? (location) => status(location, print) : (location) => migrate(location, print)
  },
}

interface Migration {
  readonly name: string
  readonly status: 'applied' | 'pending'
}

type Print = (migrations: readonly Migration[]) => string

async function status(location: StorageLocation, print: Print): Promise<Printed> {
  const migrations = await migrationsOf(location)
  return { text: print(migrations), code: migrations.some(isPending) ? 1 : 0 }
}

async function migrate(location: StorageLocation, print: Print): Promise<Printed> {
  await (await openStorage(location)).close()
  return { text: print(await migrationsOf(location)), code: 0 }
}

async function migrationsOf(location: StorageLocation): Promise<Migration[]> {
  const states = await migrationsAt(location)
  return states.map(({ name, isApplied }) => ({ name, status: isApplied ? 'applied' : 'pending' }))
}

function isPending({ status }: Migration): boolean {
  return status === 'pending'
}

function listed(migrations: readonly Migration[]): string {
  return table([['MIGRATION', 'STATUS'], ...migrations.map(({ name, status }) => [name, status])])
}
