import { UseOwnTool } from '../../errors.ts'

/** Returns the error that names PostgreSQL's tool for backups, which works while the database is in use. */
export function backupTool(url: string, file: string): UseOwnTool {
  return useOwnTool('is backed up', `pg_dump --format=custom ${nameOf(url)} --file=${quoted(file)}`)
}

/** Returns the error that names PostgreSQL's tool to restore a backup. */
export function restoreTool(url: string, file: string): UseOwnTool {
  const options = '--clean --if-exists --no-owner --single-transaction'
  return useOwnTool('is restored', `pg_restore ${options} ${nameOf(url)} ${quoted(file)}`)
}

function useOwnTool(what: string, command: string): UseOwnTool {
  return new UseOwnTool(
    `PostgreSQL ${what} with a command of its own, which asks for the password or reads it from PGPASSFILE:\n\n  ${command}`,
  )
}

/** Returns the option that names the database, without the password. */
function nameOf(text: string): string {
  const url = new URL(text)
  url.password = ''
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name)
  return `--dbname=${quoted(url.href)}`
}

/** Quotes an argument for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
