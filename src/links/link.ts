/** The rules for a link's password and times, and its status. */
import { randomInt } from 'node:crypto'
import { Refusal } from '../violations.ts'

/** In code points. */
export const maxTitleLength = 255
export const maxPasswordLength = 128
export const maxTags = 20
export const maxClicksLimit = 1_000_000_000
/** The links that one action may change, so that a request takes seconds at most. */
export const maxBulkLinks = 5_000

export const statuses = ['active', 'scheduled', 'expired', 'disabled'] as const
export type Status = (typeof statuses)[number]

/** After how many days without a click a link is idle, and how many days before its end it ends soon. */
export const [idleDays, endingDays] = [90, 7]

export const redirectStatuses = [301, 302, 307, 308] as const
/** The statuses whose redirects browsers remember (RFC 9110 §15.4.2, §15.4.9). */
export const permanentStatuses: readonly number[] = [301, 308]

/** The fields that determine a link's status. Times are RFC 3339 in UTC with milliseconds, so they compare as text. */
export interface Lifetime {
  readonly disabled: boolean
  readonly active_period_start_at: string | null
  readonly active_period_end_at: string | null
  readonly clicks_limit: number | null
  readonly clicks: number
}

/** Returns the status of a link at the time `now`. */
export function statusOf(link: Lifetime, now: string): Status {
  if (link.disabled) return 'disabled'
  if (link.active_period_end_at !== null && link.active_period_end_at <= now) return 'expired'
  if (link.clicks_limit !== null && link.clicks >= link.clicks_limit) return 'expired'
  return link.active_period_start_at !== null && link.active_period_start_at > now ? 'scheduled' : 'active'
}

/** No look-alikes, and no vowels, so that no words appear. */
const alphabet = '23456789bcdfghjkmnpqrstvwxz'
const generatedLength = 7
/** Generated aliases of one length that may be taken before longer aliases are tried. */
const clashesPerLength = 3

/** Returns a random alias, which is longer after many `clashes`. */
export function generateAlias(clashes: number): string {
  const length = generatedLength + Math.floor(clashes / clashesPerLength)
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}

/** Parses a password of 1 to 128 code points. The text is trimmed and not empty. */
export function parsePassword(text: string): string | Refusal {
  if (text.length <= 2 * maxPasswordLength && [...text].length <= maxPasswordLength) return text
  return new Refusal('too_long', { most: maxPasswordLength })
}
