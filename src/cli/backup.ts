import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { copiesOf } from '../storage/open.ts'
import { requiredFileOf } from './arguments.ts'
import { type Command, program } from './command.ts'
import { type Progress, withProgress } from './progress.ts'

export const backupCommands = {
  backup: {
    summary: 'Write a consistent copy of the database, in use or not, into a file.',
    synopsis: 'FILE [--force]',
    details: `  FILE      where the copy goes: accounts, keys and all records as they are at this moment
  --force   replace the file if it exists

The copy is checked, ends with a checksum, and gets its name once it is complete and on the disk. The search index is
not in it: the server rebuilds it from the data. For PostgreSQL, this command prints which of PostgreSQL's own tools
to use.`,
    options: { force: { type: 'boolean' } },
    takesOperand: 'file',
    prepareAt: (given) => {
      const file = requiredFileOf(given)
      return async (location, { err }) => {
        const mayReplace = given.values.force === true
        await withProgress(err, (progress) =>
          copiesOf(location).backUp(file, { mayReplace, onProgress: shareOn(progress) }),
        )
        return { text: `The database is backed up in ${resolve(file)} (${megabytes(file)} MB).`, code: 0 }
      }
    },
  },

  restore: {
    summary: 'Replace the database with a backup, after checking it.',
    synopsis: 'FILE [--stopped]',
    details: `  FILE        what "${program} backup" wrote
  --stopped   you have stopped the server: needed only when the database is too damaged to tell

No process may have the database open. The previous database is kept beside it under a dated name. Keys that were
revoked after the backup work again. For PostgreSQL, this command prints which of PostgreSQL's own tools to use.`,
    options: { stopped: { type: 'boolean' } },
    takesOperand: 'file',
    prepareAt: (given) => {
      const file = requiredFileOf(given)
      return async (location, { err }) => {
        const isStopped = given.values.stopped === true
        const { replaced, isVerified } = await withProgress(err, (progress) =>
          copiesOf(location).restore(file, { isStopped, onProgress: shareOn(progress) }),
        )
        if (!isVerified) err.write(unverified(file))
        const kept = replaced === null ? '' : ` The previous database is in ${replaced}.`
        return { text: `The database is restored from ${file}.${kept}`, code: 0 }
      }
    },
  },
} as const satisfies Record<string, Command>

function shareOn(progress: Progress) {
  return (step: string, share: number) => progress.tell(() => `${Math.floor(100 * share)} % is ${step}`)
}

function unverified(file: string): string {
  return `${file} has no checksum, since an older version wrote it: a change inside a text would not have been noticed.\n`
}

function megabytes(file: string): string {
  return (statSync(file).size / 1e6).toFixed(1)
}
