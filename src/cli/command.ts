import type { Readable, Writable } from 'node:stream'
import type { ParseArgsOptionsConfig } from 'node:util'
import type { StorageLocation } from '../storage/open.ts'
import type { Db } from '../storage/port.ts'

/** What was written after the name of a command. */
export interface Given {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  /** The ID or FILE, where the command takes one. */
  readonly operand: string | undefined
}

/** Where a command reads, prints its result, and says what else there is to say. */
export interface Streams {
  readonly input: () => Readable
  readonly out: Writable
  readonly err: Writable
}

/** What is to be printed, where there is anything; and, in place of the text alone, with which exit code to end. */
export type Result = string | { readonly text: string; readonly exitCode: 0 | 1 }

/** Does what was asked at a database that is open. */
export type Work = (db: Db, streams: Streams) => Promise<Result>

/** Does what was asked of a database that is not opened for it. */
export type WorkOnFile = (location: StorageLocation, streams: Streams) => Promise<Result>

interface Description {
  /** A line for the list of commands. */
  readonly summary: string
  /** What may follow the command's name. */
  readonly synopsis: string
  /** A line for each argument. */
  readonly details: string
  readonly options: ParseArgsOptionsConfig
  /** Whether one argument may follow that is no option. */
  readonly takesOperand: boolean
  /** Whether it makes the database when there is none. Others fail: the name is likelier wrong than the database new. */
  readonly makesDatabase: boolean
}

/** A command checks what was given before the database is touched, and throws `WrongUse`. */
export type Command = Description &
  ({ readonly prepare: (given: Given) => Work } | { readonly prepareFile: (given: Given) => WorkOnFile })

/** The command line is wrong: the sentence and the usage are printed, and the exit code is 2. */
export class WrongUse extends Error {}

export const jsonOption = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig

/** What `--json` prints. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
