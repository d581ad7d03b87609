import type { Meter } from '../../storage/port.ts'
import { startOfHour } from '../calendar.ts'
import type { CountedClick } from '../click-store.ts'

/** One raw click. It has no IP address, no user agent and no time more precise than the hour. */
export interface ClickRow {
  /** The start of the hour, as RFC 3339. */
  readonly at: string
  readonly class: 'person' | 'bot' | 'preview'
  readonly account_id: number
  readonly domain_id: number
  /** The link's space at that time; null for no space. */
  readonly space_id: number | null
  readonly link_id: number
  /** These six are null if they are unknown or the visitor asked not to be tracked. */
  readonly country: string | null
  readonly referrer: string | null
  readonly browser: string | null
  readonly operating_system: string | null
  readonly device: string | null
  readonly language: string | null
  /** Whether it was the visitor's first click of the day on the link. */
  readonly is_unique: boolean
}

/** The columns of a sink: the members of a row in their order. */
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

/** Returns one row per visit. */
export function rowsOf({ click, link, isFirst }: CountedClick): ClickRow[] {
  const { atMs, count, class: of, facts } = click
  const row: ClickRow = {
    at: new Date(startOfHour(atMs)).toISOString(),
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

/** The folder of the spool cannot be used. */
export class SpoolUnusable extends SinkFailure {}

/** The spool dropped a batch that the sink never confirmed. */
export class Dropped extends SinkFailure {}

/** Returns a batch as JSON Lines. The id of the batch and the number of the row identify each line. */
export function linesOf({ id, rows }: SinkBatch): string {
  return rows.map((click, row) => `${JSON.stringify({ batch: id, row, ...click })}\n`).join('')
}

const meters = [
  ['sent_rows', 'Raw clicks that the sink has taken.'],
  ['waiting_batches', 'Batches of raw clicks that wait for the sink.'],
  ['waiting_bytes', 'Bytes of raw clicks that wait for the sink.'],
  [
    'given_up_rows',
    'Raw clicks that never reached the sink, or that it never confirmed: too many waited, the disk lost them, or a day passed.',
  ],
] as const

/** Returns the meters of a sink. `read` returns a value by its index. */
export function sinkMeters(read: (at: number) => number): Meter[] {
  return meters.map(([name, help], at) => ({ name, help, value: () => read(at) }))
}
