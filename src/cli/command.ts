import type { ParseArgsOptionsConfig } from 'node:util'
import type { Db } from '../storage/port.ts'

/** What was written after the name of a command. */
export interface Given {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  /** The ID, where the command takes one. */
  readonly id: string | undefined
}

/** Does what was asked, and returns what is to be printed. */
export type Work = (db: Db) => Promise<string>

export interface Command {
  /** A line for the list of commands. */
  readonly summary: string
  /** What may follow the command's name. */
  readonly synopsis: string
  /** A line for each argument. */
  readonly details: string
  readonly options: ParseArgsOptionsConfig
  readonly takesId: boolean
  /** Whether it makes the database when there is none. Others fail: the name is likelier wrong than the database new. */
  readonly makesDatabase: boolean
  /** Checks what was given before the database is opened. Throws `WrongUse`. */
  readonly prepare: (given: Given) => Work
}

/** The command line is wrong: the sentence and the usage are printed, and the exit code is 2. */
export class WrongUse extends Error {}

export const jsonOption = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig

/** What `--json` prints. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
