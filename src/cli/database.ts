import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { backUp, migrationsAt, openStorage, restore } from '../storage/open.ts'
import { program } from '../version.ts'
import { flag, requiredFile } from './arguments.ts'
import { command, locationFor } from './command.ts'
import { json, type Progress, table, withProgress } from './output.ts'

export const databaseCommands = {
  migrate: command({
    summary: "Create the database, or update it to this version's schema, or show whether it needs an update.",
    arguments: {
      status: flag('list the migrations without applying them; the exit code is 1 if any is pending'),
      json: flag('print the migrations as JSON'),
    },
    notes: `The server also migrates when it starts. To migrate earlier, run this command with the new version. Commands on records,
such as "links list", migrate, too. If a migration is pending, stop all nodes before you run one of a new version.`,
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
      operand: requiredFile('the file to write, which will contain all records, accounts and hashes of keys'),
      force: flag('overwrite the file if it exists'),
    },
    notes: `The file appears under its name only when it is complete, checked and on disk. It ends with a checksum. For PostgreSQL,
this command prints the pg_dump command to use instead.`,
    run: async ({ operand: file, force: mayReplace }, { err }) => {
      const location = locationFor(file)
      await withProgress(err, (progress) => backUp(location, file, { mayReplace, onProgress: showShare(progress) }))
      return `Backed up the database to ${resolve(file)} (${(statSync(file).size / 1e6).toFixed(1)} MB).`
    },
  }),

  restore: command({
    summary: 'Replace the database with a backup, after checking it.',
    arguments: {
      operand: requiredFile(`a file that "${program} backup" wrote`),
      stopped: flag('confirm that the server is stopped (only needed if the database is too damaged to tell)'),
    },
    notes: `Stop the server first, and every other process that uses the database. The previous database is kept next to the new
one, with the date in its name. Keys revoked after the backup work again. To import a file from "${program}
export", use "${program} import". For PostgreSQL, this command prints the pg_restore command to use instead.`,
    run: async ({ operand: file, stopped: isStopped }, { err }) => {
      const location = locationFor(file)
      const { replaced, isVerified } = await withProgress(err, (progress) =>
        restore(location, file, { isStopped, onProgress: showShare(progress) }),
      )
      if (!isVerified) {
        err.write(
          `${file} has no checksum, because an older version wrote it. Changes to its text can't be detected.\n`,
        )
      }
      const previous = replaced === null ? '' : ` The previous database is in ${replaced}.`
      return `Restored the database from ${file}.${previous}`
    },
  }),
}

function showShare(progress: Progress) {
  return (step: string, share: number) => progress.show(() => `${Math.floor(100 * share)}% ${step}`)
}
