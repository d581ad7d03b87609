import { durations, Histogram } from '../../../histogram.ts'
import { resources } from '../../../resources.ts'
import type { AnyListing } from '../../listing.ts'
import type { Listing, Meter, Page } from '../../port.ts'
import { type RawPage, toPage } from '../raw-page.ts'
import type { IndexedTables } from './index-file.ts'
import { Lane } from './lane.ts'

export interface ReadersOptions {
  /** The tables to index: those of the resources unless said otherwise. */
  readonly tables?: IndexedTables
  /** The search changes up to `seq` are in the index, durably: they may be forgotten. */
  readonly onIndexed?: (seq: number) => void
  /** The search index could not be used, and searches are slower until it can; said once per kind of error. */
  readonly onProblem?: (error: unknown) => void
}

/**
 * The threads that search and that walk far, so that neither holds the event loop. An answer sees every write that was
 * committed before the question.
 */
export class Readers {
  readonly #index: Lane
  readonly #scan: Lane
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'thread_seconds',
      help: 'Time from the question to the answer of a search or a deep page, which threads of their own read.',
      value: this.#seconds,
    },
  ]

  /**
   * `databasePath` is a file that has been migrated. The search index is kept beside it, in `<databasePath>-search`.
   */
  constructor(databasePath: string, options: ReadersOptions) {
    const { tables = resources } = options
    this.#index = new Lane({ kind: 'index', databasePath, tables }, (notice) => {
      if (notice.kind === 'indexed') options.onIndexed?.(notice.seq)
      else options.onProblem?.(notice.error)
    })
    this.#scan = new Lane({ kind: 'scan', databasePath, tables }, () => undefined)
  }

  /** Starts indexing in the background. Otherwise it starts with the first search. */
  start(): void {
    this.#index.start()
  }

  /**
   * The text to search for is folded. Throws `overloaded` when too many questions wait, `database_unavailable` when
   * they cannot be answered.
   */
  async list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    const start = performance.now()
    const question = listing as AnyListing
    const found = question.search ? await this.#index.ask(question) : null
    // The scan lane answers every question itself.
    const page = found ?? ((await this.#scan.ask(question)) as RawPage)
    this.#seconds.add((performance.now() - start) / 1000)
    return toPage(listing.of, page)
  }

  /** Lets the threads answer what they were asked, for a second at most, and ends them. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#index.close(), this.#scan.close()])
  }
}
