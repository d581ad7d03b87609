import type { Click, Recorded } from '../../storage/clicks/recording.ts'

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
  ...(['at', 'class', 'account_id', 'domain_id', 'space_id', 'link_id'] as const),
  ...(['country', 'referrer', 'browser', 'operating_system', 'device', 'language', 'is_unique'] as const),
] satisfies readonly (keyof ClickRow)[]

const hourMs = 3_600_000

/** The hour that a moment in Unix milliseconds is in, as RFC 3339 in UTC. */
export function hourOf(ms: number): string {
  return new Date(ms - (ms % hourMs)).toISOString()
}

/** A row for each of the clicks, which are of one visitor unless their number says otherwise; none if the link is gone. */
export function rowsOf({ link, atMs, count, class: of, facts }: Click, recorded: Recorded): ClickRow[] {
  if (recorded === undefined) return []
  const { account, domain, space } = recorded.owners
  const row: ClickRow = {
    at: hourOf(atMs),
    class: of,
    account_id: account,
    domain_id: domain,
    space_id: space,
    link_id: link,
    country: facts?.countries ?? null,
    referrer: facts?.referrers ?? null,
    browser: facts?.browsers ?? null,
    operating_system: facts?.operating_systems ?? null,
    device: facts?.devices ?? null,
    language: facts?.languages ?? null,
    is_unique: recorded.isFirst,
  }
  return Array.from({ length: count }, () => row)
}
