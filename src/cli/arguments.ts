/** Arguments of commands and their parsers, which throw `WrongUse`. */

import { isScope, type KeyScope, scopes } from '../access/actor.ts'
import { dayFrom, positiveInteger } from '../forms/rules.ts'
import { parseDuration } from '../lib/duration.ts'
import { parseBoundedText } from '../lib/text.ts'
import { parseTimeZone } from '../lib/time-zone.ts'
import { program } from '../version.ts'
import { Refusal } from '../violations.ts'

/** An invalid command line: the message and the usage are printed, and the exit code is 2. */
export class WrongUse extends Error {}

/** A command line that names no command, so that no usage fits. */
export class UnknownCommand extends WrongUse {}

export interface Argument<T> {
  /** The value as the help shows it, such as `NAME`; '' for a flag. */
  readonly placeholder: string
  readonly help: string
  readonly isRequired: boolean
  /** Whether the value is a path, which must not be the database. */
  readonly isFile?: true
  /** Whether the option can be repeated. The parser gets the values with commas between them. */
  readonly isRepeatable?: boolean
  /** `label` is the subject of error messages: `--name` or `KEY`. */
  readonly parse: (text: string | undefined, label: string) => T
}

type Parse<T> = (text: string, label: string) => T

export function flag(help: string): Argument<boolean> {
  return { placeholder: '', help, isRequired: false, parse: (text) => text !== undefined }
}

export function optional<T>(placeholder: string, help: string, parse: Parse<T>): Argument<T | undefined> {
  const parseGiven: Argument<T | undefined>['parse'] = (text, label) =>
    text === undefined ? undefined : parse(text, label)
  return { placeholder, help, isRequired: false, parse: parseGiven }
}

export function withDefault<T>(placeholder: string, help: string, fallback: string, parse: Parse<T>): Argument<T> {
  return { placeholder, help, isRequired: false, parse: (text = fallback, label) => parse(text, label) }
}

/** An argument that must have a value, which is trimmed. */
export function required<T>(placeholder: string, help: string, parse: Parse<T>): Argument<T> {
  return {
    placeholder,
    help,
    isRequired: true,
    parse: (text = '', label) => parse(text.trim() || fail(`${label} is required.`), label),
  }
}

/** A file to read or write. Standard input or output is used if it is omitted or `-`. */
export function optionalFile(help: string): Argument<string | undefined> {
  return { ...optional('FILE', help, (text) => (text === '-' ? undefined : text)), isFile: true }
}

export function requiredFile(help: string): Argument<string> {
  return {
    placeholder: 'FILE',
    help,
    isRequired: true,
    isFile: true,
    parse: (text = '', label) => (text === '' || text === '-' ? fail(`${label} is required.`) : text),
  }
}

export const text: Parse<string> = (text) => text

/** Returns a parser that rejects a text if `read` returns undefined. The sentence continues the label. */
function parser<T>(read: (text: string) => T | undefined, sentence: string): Parse<T> {
  return (text, label) => read(text) ?? fail(`${label} ${sentence}`)
}

export const accountId = parser(positiveInteger, `must be an account ID, as shown by "${program} accounts list".`)
export const changeId = parser(positiveInteger, `must be the ID of a change, as shown by "${program} history".`)
export const importId = parser(positiveInteger, `must be the ID of an import, as shown by "${program} move list".`)
export const invitationId = parser(positiveInteger, 'must be the ID of an invitation.')
export const removedMemberId = parser(positiveInteger, 'must be the ID of a removed member.')
export const account = optional('ID', 'the account (optional if there is only one)', accountId)

/** Parses a name by the rule of the API's names. */
export const recordName = parser((text) => {
  const name = parseBoundedText(text.trim(), 255)
  return name instanceof Refusal || name === '' || /\p{Cc}/u.test(name) || !name.isWellFormed() ? undefined : name
}, 'must have 1 to 255 characters, and no control characters.')

export const timeZone = parser(parseTimeZone, 'takes the IANA name of a time zone, such as Europe/Berlin.')

/** Parses scopes; `*` includes all others. */
export const scopeList: Parse<KeyScope[]> = (text, label) => {
  const wanted = new Set(text.split(',').map((scope) => scope.trim()))
  const known = [...wanted].filter(isScope)
  if (known.length === wanted.size) return wanted.has('*') ? ['*'] : known
  const unknown = [...wanted].find((scope) => !isScope(scope))
  return fail(`Unknown scope "${unknown}". ${label} must be one or more of ${scopes.join(', ')}, separated by commas.`)
}

export const duration = parser(parseDuration, 'must be a duration such as 30s, 15m, 24h or 90d, at most 36500d.')

export const lifetime: Parse<number> = (text, label) =>
  duration(text, label) || fail(`${label} must be longer than 0, such as 90d.`)

/** Parses a key ID or a key name, even if the name is a number. Errors don't contain the text, because it may be a secret. */
export const keyReference: Parse<string> = (text) => {
  if (text.startsWith('wm_'))
    fail(`KEY must be the ID or name of a key, not the key itself. To see all keys, run "${program} keys list".`)
  return text
}

export const limit = parser(
  (text) => (/^([1-9]\d{0,2}|1000)$/.test(text) ? Number(text) : undefined),
  'must be a number from 1 to 1000.',
)

/** Returns a parser for one of these words, of which the placeholder has the same. */
export function choice<const Word extends string>(words: readonly Word[]): Parse<Word> {
  return parser((text) => words.find((word) => word === text), `must be ${formatWords.format(words)}.`)
}

const formatWords = new Intl.ListFormat('en', { type: 'disjunction' })

export const day = parser(
  (text) => (dayFrom(text) === undefined ? undefined : text),
  'must be a date such as 2026-11-20.',
)

function fail(message: string): never {
  throw new WrongUse(message)
}
