import { UseOwnTool } from '../../errors.ts'
import type { Copies } from '../copies.ts'

/** PostgreSQL's own tools back up a database while it is in use, and restore it. */
export function ownTools(url: string): Copies {
  const database = `--dbname=${quoted(withoutPassword(url))}`
  const refuse = (what: string, command: string) => {
    throw new UseOwnTool(
      `PostgreSQL ${what} with a command of its own, which asks for the password or reads it from PGPASSFILE:\n\n  ${command}`,
    )
  }
  return {
    backUp: async (file) => refuse('is backed up', `pg_dump --format=custom ${database} --file=${quoted(file)}`),
    restore: async (file) =>
      refuse(
        'is restored',
        `pg_restore --clean --if-exists --no-owner --single-transaction ${database} ${quoted(file)}`,
      ),
    isItself: () => false,
  }
}

function withoutPassword(text: string): string {
  const url = new URL(text)
  url.password = ''
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name)
  return url.href
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
