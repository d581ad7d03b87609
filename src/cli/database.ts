import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { backUp, migrationsAt, openStorage, restore } from '../storage/open.ts'
import { flag, program, requiredFile } from './arguments.ts'
import { command, locationFor } from './command.ts'
import { json, type Progress, table, withProgress } from './output.ts'

export const databaseCommands = {
  migrate: command({
    summary: "Update the database to this version's schema, or show whether it needs an update.",
    arguments: {
      status: flag('change nothing: list the migrations; the exit code is 1 if any is pending'),
      json: flag('print the migrations as JSON'),
    },
    notes: 'The server migrates when it starts. To migrate before that, run this command with the new version.',
    run: async ({ status, json: isJson }) => {
      const location = locationFor(undefined)
      if (!status) await (await openStorage(location)).close()
      const states = await migrationsAt(location)
      const rows = states.map(({ name, isApplied }) => ({ name, status: isApplied ? 'applied' : 'pending' }))
      const text = isJson
        ? json(rows)
        : table([['MIGRATION', 'STATUS'], ...rows.map(({ name, status }) => [name, status])])
      return { text, code: states.every(({ isApplied }) => isApplied) ? 0 : 1 }
    },
  }),

  backup: command({
    summary: 'Write a consistent copy of the database to a file, even while the server runs.',
    arguments: {
      operand: requiredFile('the file for the copy, which has accounts, keys and all records'),
      force: flag('replace the file if it exists'),
    },
    notes: `The copy is checked, ends with a checksum, and gets its name when it is complete and on disk. For PostgreSQL, this
command prints which of PostgreSQL's own tools to use.`,
    run: async ({ operand: file, force: mayReplace }, { err }) => {
      const location = locationFor(file)
      await withProgress(err, (progress) => backUp(location, file, { mayReplace, onProgress: showShare(progress) }))
      return `The database is backed up in ${resolve(file)} (${(statSync(file).size / 1e6).toFixed(1)} MB).`
    },
  }),

  restore: command({
    summary: 'Replace the database with a backup, after checking it.',
    arguments: {
      operand: requiredFile(`a file that "${program} backup" wrote`),
      stopped: flag('you have stopped the server; only needed if the database is too damaged to tell'),
    },
    notes: `No process may have the database open. The previous database is kept next to it under a name with the date. Keys
revoked after the backup work again. For PostgreSQL, this command prints which of PostgreSQL's own tools to use.`,
    run: async ({ operand: file, stopped: isStopped }, { err }) => {
      const location = locationFor(file)
      const { replaced, isVerified } = await withProgress(err, (progress) =>
        restore(location, file, { isStopped, onProgress: showShare(progress) }),
      )
      if (!isVerified) {
        err.write(`${file} has no checksum, because an older version wrote it. Changed text can't be detected.\n`)
      }
      const previous = replaced === null ? '' : ` The previous database is in ${replaced}.`
      return `The database is restored from ${file}.${previous}`
    },
  }),
}

function showShare(progress: Progress) {
  return (step: string, share: number) => progress.show(() => `${Math.floor(100 * share)} % is ${step}`)
}
