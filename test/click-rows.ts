/** Raw clicks for the tests of sinks. */
import type { ClickRow, Sink, SinkBatch } from '../src/analytics/sink/sink.ts'

/** Returns a human click on link `id`. */
export function clickOf(id: number): ClickRow {
  return {
    at: '2026-11-22T12:00:00.000Z',
    class: 'person',
    account_id: 1,
    domain_id: 2,
    space_id: null,
    link_id: id,
    country: 'CH',
    referrer: 'bücher.example',
    browser: 'Firefox',
    operating_system: null,
    device: 'mobile',
    language: 'de',
    is_unique: true,
  }
}

/** Returns clicks on the links from `first` to `last`. */
export function clicksOf(first: number, last: number): ClickRow[] {
  return Array.from({ length: last - first + 1 }, (_, n) => clickOf(first + n))
}

/** A sink that stores batches in memory. */
export class SinkInMemory implements Sink {
  readonly batches: SinkBatch[] = []
  /** All sent batches, including rejected ones. */
  readonly attempts: SinkBatch[] = []
  /** The error for all batches; null to store them. */
  failure: Error | null = null

  /** The links of all stored clicks in order. */
  get links(): number[] {
    return this.batches.flatMap(({ rows }) => rows.map(({ link_id }) => link_id))
  }

  async send(batch: SinkBatch): Promise<void> {
    this.attempts.push(batch)
    if (this.failure !== null) throw this.failure
    this.batches.push(batch)
  }
}
