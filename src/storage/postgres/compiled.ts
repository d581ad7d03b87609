import { hash } from 'node:crypto'
import { PostgresQueryCompiler } from 'kysely'

/**
 * Returns the name under which connections keep a statement prepared. It follows from the text, so a pooler that mixes up
 * the statements of its clients can't run another one.
 */
export function statementName(text: string): string {
  return `w${hash('sha256', text).slice(0, 16)}`
}

export const compiler = new PostgresQueryCompiler()
