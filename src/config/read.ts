/**
 * How variables are read: each by name, with a default, and every mistake named at once.
 */
import { readFileSync } from 'node:fs'
import { StartupFailure } from '../errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the variable, or `fallback` if it is not set. `parse` throws an error that says what to write instead. */
export type Read = <T>(name: string, fallback: string, parse: (text: string) => T) => T

/**
 * Lets `work` read variables, and tells it with `known` which it has read. Throws `StartupFailure` with a sentence for each of
 * them that is wrong.
 */
export function readAll<T>(env: Environment, work: (read: Read, known: readonly string[]) => T): T {
  const mistakes: string[] = []
  const known: string[] = []
  const read: Read = (name, fallback, parse) => {
    known.push(name)
    try {
      return parse(textOf(env, name) ?? fallback)
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message}`)
      return undefined as never
    }
  }
  const result = work(read, known)
  if (mistakes.length > 0) throw new StartupFailure(mistakes.join('\n'))
  return result
}

/** The variable's text, or that of the file that `NAME_FILE` names; undefined when neither is set to anything. */
function textOf(env: Environment, name: string): string | undefined {
  const direct = env[name]?.trim()
  const path = env[`${name}_FILE`]?.trim()
  if (!path) return direct || undefined
  if (direct) throw new Error(`and ${name}_FILE are both set: set one of them.`)
  const text = contentOf(path, name).trim()
  // A secret that was not filled in must not become the default.
  if (text === '') throw new Error(`cannot be read from the file that ${name}_FILE names: it is empty.`)
  return text
}

function contentOf(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot be read from the file that ${name}_FILE names: ${(error as Error).message}.`)
  }
}

/** Reads an integer in decimal digits. */
export function integerFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    if (/^(0|[1-9]\d{0,9})$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
    throw new Error(`must be an integer from ${least} to ${most}, not "${text.slice(0, 40)}".`)
  }
}

/** Reads one of these words. */
export function oneOf(allowed: readonly string[]): (text: string) => string {
  return (text) => {
    if (allowed.includes(text)) return text
    throw new Error(`must be one of ${allowed.join(', ')}.`)
  }
}

/** A percent sign that begins no octet. */
export const brokenEncoding = /%(?![\da-f]{2})/i
