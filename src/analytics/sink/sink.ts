import type { Meter } from '../../storage/port.ts'
import type { ClickRow } from './row.ts'

/** Clicks that are sent together, under an id by which a batch that comes twice can be told. */
export interface SinkBatch {
  readonly id: string
  readonly rows: readonly ClickRow[]
}

/** Where raw clicks go: a file, or an engine that is made for them. */
export interface Sink {
  /**
   * Resolves once the sink keeps the whole batch. Rejects with `SinkFailure` if it does not, if that is unknown, or if
   * `signal` aborts first: then send the same batch again, under the same id. Rejects with `Unconfirmed` if the sink
   * accepted the batch without a proof.
   */
  send(batch: SinkBatch, signal: AbortSignal): Promise<void>
}

/** Raw clicks could not be kept. The message is for the operator: one sentence, which never contains a password. */
export class SinkFailure extends Error {}

/** The sink accepted a batch, but its response does not prove that the batch is stored. */
export class Unconfirmed extends SinkFailure {}

/** The folder of the spool cannot be used. */
export class SpoolUnusable extends SinkFailure {}

/** The spool dropped a batch that the sink never confirmed. */
export class Dropped extends SinkFailure {}

/**
 * The batch as JSON Lines: a line for each click, which begins with the id of the batch and the click's number in it, so
 * that no two clicks are the same line, and a click that comes twice is.
 */
export function linesOf({ id, rows }: SinkBatch): string {
  return rows.map((click, row) => `${JSON.stringify({ batch: id, row, ...click })}\n`).join('')
}

const names = [
  ['sent_rows', 'Raw clicks that the sink has taken.'],
  ['waiting_batches', 'Batches of raw clicks that wait for the sink.'],
  ['waiting_bytes', 'Bytes of raw clicks that wait for the sink.'],
  [
    'given_up_rows',
    'Raw clicks that never reached the sink, or that it never confirmed: too many waited, the disk lost them, or a day passed.',
  ],
] as const

/** What is measured of a sink, for the operator: sent, waiting, their bytes and given up, which `read` gives by their place. */
export function sinkMeters(read: (at: number) => number): Meter[] {
  return names.map(([name, help], at) => ({ name, help, value: () => read(at) }))
}
