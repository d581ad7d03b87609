import { hash } from 'node:crypto'
import { PostgresQueryCompiler } from 'kysely'

/** A connection keeps its prepared statements until it ends, so rare texts, such as long lists of ids, are not prepared. */
const maxNames = 500
const names = new Map<string, string>()

/**
 * Returns the name under which connections keep a statement prepared, or undefined if there are too many. It follows from
 * the text, so a pooler that mixes up the statements of its clients can't run another one.
 */
export function statementName(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= maxNames) return known
  const name = `w${hash('sha256', text).slice(0, 16)}`
  names.set(text, name)
  return name
}

export const compiler = new PostgresQueryCompiler()
