/**
 * Reads single arguments. Each function throws `WrongUse` with a sentence that says what to write.
 */
import { isScope, type Scope, scopes } from '../keys/scope.ts'
import { type Given, program, WrongUse } from './command.ts'
import { parseDuration } from './duration.ts'

const maxName = 255

/** `--name`, which is required. */
export function nameOf({ values }: Given): string {
  const name = String(values.name ?? '').trim()
  if (name === '') throw new WrongUse('--name is missing.')
  const isPlain = !/\p{Cc}/u.test(name) && name.isWellFormed()
  if (isPlain && [...name].length <= maxName) return name
  throw new WrongUse(`--name takes 1 to ${maxName} characters, none of them a control character.`)
}

/** `--scopes`; `*` includes all others. */
export function scopesOf({ values }: Given): Scope[] {
  const wanted = new Set(
    String(values.scopes ?? '*')
      .split(',')
      .map((scope) => scope.trim()),
  )
  const known = [...wanted].filter(isScope)
  if (known.length === wanted.size) return wanted.has('*') ? ['*'] : known
  const unknown = [...wanted].find((scope) => !isScope(scope))
  throw new WrongUse(`There is no scope "${unknown}". --scopes takes ${scopes.join(', ')}, separated by commas.`)
}

/** `--expires`, in milliseconds; null when it is not given. */
export function lifetimeOf(given: Given): number | null {
  if (given.values.expires === undefined) return null
  const milliseconds = durationOf(given, 'expires')
  if (milliseconds === 0) throw new WrongUse('--expires must be longer than nothing, such as 90d.')
  return milliseconds
}

/** An option that takes a duration, in milliseconds. */
export function durationOf({ values }: Given, option: string): number {
  const milliseconds = parseDuration(String(values[option]))
  if (milliseconds !== undefined) return milliseconds
  throw new WrongUse(`--${option} takes a duration such as 30s, 15m, 24h or 90d, at most 36500d.`)
}

/** `--account`; undefined when it is not given. */
export function accountOf({ values }: Given): number | undefined {
  const text = values.account
  if (text === undefined) return undefined
  return idFrom(String(text)) ?? refuse(`--account takes the ID of an account, as "${program} accounts list" shows it.`)
}

/** What KEY, which is required, says: the ID of a key, or its name. */
export function keyNamedBy({ operand }: Given): number | string {
  if (operand === undefined) throw new WrongUse('The KEY is missing: its ID or its name.')
  // What was written is not repeated: it may be the secret.
  if (/^wm_/.test(operand))
    throw new WrongUse(`KEY is the ID or the name of a key, as "${program} keys list" shows it.`)
  return idFrom(operand) ?? operand.trim()
}

/** The FILE, where one is given. */
export function fileOf({ operand }: Given): string | undefined {
  return operand === undefined || operand === '-' ? undefined : operand
}

/** The FILE, which is required. */
export function requiredFileOf(given: Given): string {
  return fileOf(given) ?? refuse('The FILE is missing.')
}

/** The ID that the text is; undefined when it is none. */
export function idFrom(text: string): number | undefined {
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
}

function refuse(sentence: string): never {
  throw new WrongUse(sentence)
}
