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

/** What a command prints, where there is anything, and the exit code of the process. */
export interface Printed {
  readonly text: string
  readonly code: 0 | 1
}

/** Does what was asked, and returns what is to be printed; with exit code 0 where it is only a text. */
export type Work = (db: Db, streams: Streams) => Promise<string | Printed>

interface Described {
  /** A line for the list of commands. */
  readonly summary: string
  /** What may follow the command's name. */
  readonly synopsis: string
  /** A line for each argument. */
  readonly details: string
  readonly options: ParseArgsOptionsConfig
  /** Whether an ID or a FILE may follow. */
  readonly takesOperand: boolean
}

/** A command on records. */
export interface RecordCommand extends Described {
  /** Whether it makes the database when there is none. Others fail: the name is likelier wrong than the database new. */
  readonly makesDatabase: boolean
  /** Checks what was given before the database is opened. Throws `WrongUse`. */
  readonly prepare: (given: Given) => Work
}

/** A command on the database as a whole, which opens it as it likes. */
export interface DatabaseCommand extends Described {
  /** Checks what was given before anything is done. Throws `WrongUse`. */
  readonly prepareAt: (given: Given) => (location: StorageLocation, streams: Streams) => Promise<Printed>
}

export type Command = RecordCommand | DatabaseCommand

/** The command line is wrong: the sentence and the usage are printed, and the exit code is 2. */
export class WrongUse extends Error {}

export const jsonOption = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig

/** What `--json` prints. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
