import { Refusal } from '../errors.ts'

/** A positive integer in canonical decimal form, at most 2^53-1; undefined for any other text. */
export function positiveInteger(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

/** The positive integer that the text is in canonical form, if it is at most `most`; otherwise a refusal that names the range. */
export function integerUpTo(most: number, text: string, label: string): number | Refusal {
  const value = positiveInteger(text)
  if (value !== undefined && value <= most) return value
  const bounds = most === Number.MAX_SAFE_INTEGER ? 'of 1 or more' : `from 1 to ${most}`
  return new Refusal('out_of_range', `The ${label} must be an integer ${bounds}.`)
}

/** The integer from `least`, 0 or more, to `most` that the text is in canonical form; otherwise a refusal that names the range. */
export function integerFrom(least: number, most: number, text: string, label: string): number | Refusal {
  const value = text === '0' ? 0 : positiveInteger(text)
  if (value !== undefined && value >= least && value <= most) return value
  return new Refusal('out_of_range', `The ${label} must be an integer from ${least} to ${most}.`)
}
