import { startOfHour } from '../calendar.ts'
import type { CountedClick } from '../click-store.ts'

/** One click as it leaves for a sink. It has no address, no user agent and no time finer than the hour. */
export interface ClickRow {
  /** The hour that the click was in: see `hourOf`. */
  readonly at: string
  readonly class: 'person' | 'bot' | 'preview'
  readonly account_id: number
  readonly domain_id: number
  /** The link's space at that time; null if it had none. */
  readonly space_id: number | null
  readonly link_id: number
  /** These six are null where they are unknown or the visitor asked not to be tracked. */
  readonly country: string | null
  readonly referrer: string | null
  readonly browser: string | null
  readonly operating_system: string | null
  readonly device: string | null
  readonly language: string | null
  /** Whether it was the visitor's first of the day on this link. */
  readonly is_unique: boolean
}

/** The members of a row, in the order of a sink's columns. */
export const columns = [
  'at',
  'class',
  'account_id',
  'domain_id',
  'space_id',
  'link_id',
  'country',
  'referrer',
  'browser',
  'operating_system',
  'device',
  'language',
  'is_unique',
] as const satisfies readonly (keyof ClickRow)[]

/** Returns the start of the hour of a time in Unix milliseconds, as RFC 3339. */
export function hourOf(ms: number): string {
  return new Date(startOfHour(ms)).toISOString()
}

/** Returns a row for each visit of a counted click. */
export function rowsOf({ click, link, isFirst }: CountedClick): ClickRow[] {
  const { atMs, count, class: of, facts } = click
  const row: ClickRow = {
    at: hourOf(atMs),
    class: of,
    account_id: link.account,
    domain_id: link.domain,
    space_id: link.space,
    link_id: link.link,
    country: facts?.countries ?? null,
    referrer: facts?.referrers ?? null,
    browser: facts?.browsers ?? null,
    operating_system: facts?.operating_systems ?? null,
    device: facts?.devices ?? null,
    language: facts?.languages ?? null,
    is_unique: isFirst,
  }
  return Array.from({ length: count }, () => row)
}
