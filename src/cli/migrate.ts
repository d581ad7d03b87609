import { migrationsAt, openStorage } from '../storage/open.ts'
import { type Command, json, jsonOption } from './command.ts'
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
    return async (location) => {
      if (!values.status) await (await openStorage(location)).close()
      const states = await migrationsAt(location)
      const rows = states.map(({ name, isApplied }) => ({ name, status: isApplied ? 'applied' : 'pending' }))
      const text = values.json
        ? json(rows)
        : table([['MIGRATION', 'STATUS'], ...rows.map(({ name, status }) => [name, status])])
      return { text, code: states.every(({ isApplied }) => isApplied) ? 0 : 1 }
    }
  },
}
