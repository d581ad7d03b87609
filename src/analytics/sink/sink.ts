import { startOfHour } from '../../accounts/calendar.ts'
import type { Meter } from '../../storage/port.ts'
import type { CountedClick } from '../click-store.ts'

/** The members of a raw click. It has no IP address, no user agent and no time more precise than the hour. */
const members = {
  /** The start of the hour, as RFC 3339. */
  at: ({ click }) => new Date(startOfHour(click.atMs)).toISOString(),
  class: ({ click }) => click.class,
  account_id: ({ link }) => link.account_id,
  domain_id: ({ link }) => link.domain_id,
  /** The link's space at that time; null for no space. */
  space_id: ({ link }) => link.space_id,
  link_id: ({ link }) => link.link_id,
  /** These six are null if they are unknown or the visitor asked not to be tracked. */
  country: ({ click }) => click.facts?.countries ?? null,
  referrer: ({ click }) => click.facts?.referrers ?? null,
  browser: ({ click }) => click.facts?.browsers ?? null,
  operating_system: ({ click }) => click.facts?.operating_systems ?? null,
  device: ({ click }) => click.facts?.devices ?? null,
  language: ({ click }) => click.facts?.languages ?? null,
  /** Whether it was the visitor's first click of the day on the link. */
  is_unique: ({ isFirst }) => isFirst,
} satisfies Readonly<Record<string, (counted: CountedClick) => unknown>>

/** One raw click. */
export type ClickRow = { readonly [Name in keyof typeof members]: ReturnType<(typeof members)[Name]> }

/** The columns of a sink. */
export const columns = Object.keys(members)

/** Returns one row per visit. */
export function toRows(counted: CountedClick): ClickRow[] {
  const values = Object.entries(members).map(([name, read]) => [name, read(counted)])
  const row: ClickRow = Object.fromEntries(values)
  return Array.from({ length: counted.click.count }, () => row)
}

/** Rows that are sent together. The id identifies a batch that is sent again. */
export interface SinkBatch {
  readonly id: string
  readonly rows: readonly ClickRow[]
}

/** The destination of raw clicks: a file or another database. */
export interface Sink {
  /**
   * Resolves when the sink has stored the whole batch. Rejects with `SinkFailure` if it has not, if that is unknown, or if
   * `signal` aborts. Then the same batch must be sent again. Rejects with `Unconfirmed` if the sink accepted the batch
   * without a proof.
   */
  send(batch: SinkBatch, signal: AbortSignal): Promise<void>
}

/** Raw clicks could not be stored. The message is a sentence for the operator, and never contains a password. */
export class SinkFailure extends Error {}

/** The sink accepted a batch, but its response does not prove that the batch is stored. */
export class Unconfirmed extends SinkFailure {}

/** The spool cannot be opened or written, so clicks are dropped. */
export class SpoolUnusable extends SinkFailure {}

/** The spool dropped a batch that the sink never confirmed. */
export class Dropped extends SinkFailure {}

/** Returns a batch as JSON Lines. The id of the batch and the number of the row identify each line. */
export function formatBatch({ id, rows }: SinkBatch): string {
  return rows.map((click, row) => `${JSON.stringify({ batch: id, row, ...click })}\n`).join('')
}

const meters = [
  ['sent_rows_total', 'Raw clicks that the sink has stored since the start.'],
  ['waiting_batches', 'Batches in the spool.'],
  ['waiting_bytes', 'Size of the spool in bytes.'],
  [
    'dropped_rows_total',
    'Raw clicks dropped since the start: the spool was full, the disk lost them, or the sink never confirmed them.',
  ],
] as const

/** Returns the meters of a sink. `read` returns a value by its index. */
export function sinkMeters(read: (at: number) => number): Meter[] {
  return meters.map(([name, help], at) => ({ name, help, value: () => read(at) }))
}
