/**
 * Reads the arguments of the commands on links that need no rule of the API.
 */
import { type Given, WrongUse } from './command.ts'

const maxLimit = 1_000

/** An option that takes a text; undefined when it is not given. */
export function optionOf({ values }: Given, option: string): string | undefined {
  const text = values[option]
  return text === undefined ? undefined : String(text)
}

/** The URL, which is required. */
export function urlOf({ operand }: Given): string {
  if (operand === undefined) throw new WrongUse('The URL is missing: where the link leads.')
  return operand
}

/** The ALIAS, which is required. */
export function aliasOf({ operand }: Given): string {
  const alias = operand?.trim() ?? ''
  if (alias === '') throw new WrongUse('The ALIAS is missing: the path of the short URL.')
  return alias
}

/** `--limit`. */
export function limitOf({ values }: Given): number {
  const limit = /^[1-9]\d{0,3}$/.test(String(values.limit)) ? Number(values.limit) : 0
  if (limit >= 1 && limit <= maxLimit) return limit
  throw new WrongUse(`--limit takes a number from 1 to ${maxLimit}.`)
}
