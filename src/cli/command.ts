import type { Readable, Writable } from 'node:stream'
import type { ParseArgsOptionsConfig } from 'node:util'
import type { StorageLocation } from '../storage/location.ts'
import type { Storage } from '../storage/port.ts'

/** What a user types to run this program, in any folder where Waymark is installed. */
export const program = 'npx waymark'

/** What was written after the name of a command. */
export interface Given {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  /** The KEY, FILE, URL or ALIAS, where the command takes one. */
  readonly operand: string | undefined
}

/** What a command works with: where it reads, prints its result and says everything else. */
export interface Surroundings {
  readonly input: () => Readable
  readonly out: Writable
  readonly err: Writable
  /** Starts the server, and returns once it listens. */
  readonly serve: () => Promise<void>
}

/** What a command prints, if anything, and the exit code of the process. */
export interface Printed {
  readonly text: string
  readonly code: 0 | 1
}

/** Does the work and returns what to print; a text alone means exit code 0. */
type Work = (storage: Storage, surroundings: Surroundings) => Promise<string | Printed>

interface Described {
  /** A line for the list of commands. */
  readonly summary: string
  /** What may follow the command's name. */
  readonly synopsis: string
  /** A line for each argument. */
  readonly details: string
  readonly options: ParseArgsOptionsConfig
  /** Whether something may follow that is no option, and whether it names a file. */
  readonly takesOperand: false | 'file' | 'other'
}

/** A command on records. */
export interface RecordCommand extends Described {
  /** Whether it makes a missing database. Others fail: a wrong name is likelier than a new database. */
  readonly makesDatabase: boolean
  /** Checks the arguments before the database is opened. Throws `WrongUse`. */
  readonly prepare: (given: Given) => Work
}

/** A command on the database as a whole, which opens it itself. */
interface DatabaseCommand extends Described {
  /** Checks the arguments before anything is done. Throws `WrongUse`. */
  readonly prepareAt: (given: Given) => (location: StorageLocation, surroundings: Surroundings) => Promise<Printed>
}

/** The command that becomes the server, which reads its own configuration. */
export interface ServerCommand extends Described {
  readonly serves: true
}

export type Command = RecordCommand | DatabaseCommand | ServerCommand

/** The command line is wrong: the sentence and the usage are printed, and the exit code is 2. */
export class WrongUse extends Error {}

export const jsonOption = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig

/** What `--json` prints. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
