import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { copiesOf } from '../storage/open.ts'
import { requiredFileOf } from './arguments.ts'
import { type Command, program } from './command.ts'
import { Progress } from './progress.ts'

export const backupCommands = {
  backup: {
    summary: 'Write a consistent copy of the database, in use or not, into a file.',
    synopsis: 'FILE [--force]',
    details: `  FILE      where the copy goes: accounts, keys and all records as they are at this moment
  --force   replace the file if there is one

The copy is checked, and gets its name once it is complete and on the disk. It leaves out the search index, which is
rebuilt from the data. For PostgreSQL, this command prints which of PostgreSQL's own tools to use.`,
    options: { force: { type: 'boolean' } },
    takesOperand: true,
    prepareAt: (given) => {
      const file = requiredFileOf(given)
      return async (location, { err }) => {
        const progress = new Progress(err)
        const onProgress = (done: number, total: number) =>
          progress.tell(() => `${Math.floor((100 * done) / total)} % is copied`)
        const mayReplace = given.values.force === true
        await copiesOf(location).backUp(file, { mayReplace, onProgress })
        progress.clear()
        return { text: `The database is backed up in ${resolve(file)} (${megabytes(file)} MB).`, code: 0 }
      }
    },
  },

  restore: {
    summary: 'Check a backup and replace the database with it.',
    synopsis: 'FILE [--stopped]',
    details: `  FILE        what "${program} backup" wrote
  --stopped   you have stopped the server: needed only when the database is too damaged to tell

Nothing may have the database open. The old database is kept beside the new one under a dated name. Keys that were
revoked after the backup work again. For PostgreSQL, this command prints which of PostgreSQL's own tools to use.`,
    options: { stopped: { type: 'boolean' } },
    takesOperand: true,
    prepareAt: (given) => {
      const file = requiredFileOf(given)
      return async (location) => {
        const { replaced } = await copiesOf(location).restore(file, given.values.stopped === true)
        const kept = replaced === null ? '' : ` What was there before is in ${replaced}.`
        return { text: `The database is restored from ${file}.${kept}`, code: 0 }
      }
    },
  },
} as const satisfies Record<string, Command>

function megabytes(file: string): string {
  return (statSync(file).size / 1e6).toFixed(1)
}
