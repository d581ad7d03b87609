import { UseOwnTool } from '../../errors.ts'

/** Returns the error that names PostgreSQL's tool for backups, which works while the database is in use. */
export function backupTool(url: string, file: string): UseOwnTool {
  return useOwnTool('back up', `pg_dump --format=custom ${nameOf(url)} --file=${quoted(file)}`)
}

/** Returns the error that names PostgreSQL's tool to restore a backup. */
export function restoreTool(url: string, file: string): UseOwnTool {
  const options = '--clean --if-exists --no-owner --single-transaction'
  return useOwnTool('restore', `pg_restore ${options} ${nameOf(url)} ${quoted(file)}`)
}

function useOwnTool(action: string, command: string): UseOwnTool {
  return new UseOwnTool(
    `To ${action} a PostgreSQL database, run this command. It asks for the password or reads it from PGPASSFILE:\n\n  ${command}`,
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
