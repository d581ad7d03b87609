import { Failure } from '../errors.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { fromSent, type SentError, toSent, WorkerClient } from '../lib/worker-client.ts'
import type { StorageLocation } from '../storage/port.ts'
import type { BatchRequest, BatchResponse } from './batch.ts'
import type { NewLink } from './schema.ts'

export interface BatchWorkerData {
  readonly location: StorageLocation
  /** The configured `SHORT_URL`. */
  readonly shortUrl: string
}

/** A row as it is sent: an error would lose its class. */
type SentRow = NewLink | { readonly error: SentError }

/** A batch as it is sent to the thread. */
export interface SentBatch {
  readonly request: BatchRequest
  /** The rows of a batch that stores links. */
  readonly rows: readonly SentRow[]
}

/** How long the thread may take to end. Milliseconds. */
const closeMs = 10_000
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 }

/**
 * Runs batches in a thread with its own connection to the database, so that a transaction of 1,000 rows neither blocks the event
 * loop nor waits for it while it holds the write lock.
 */
export class BatchWorker {
  readonly #client: WorkerClient<SentBatch, BatchResponse, never>
  readonly #turns: Semaphore

  /** `turns` makes batches wait for each other. */
  constructor(location: StorageLocation, shortUrl: string, turns: Semaphore) {
    this.#turns = turns
    this.#client = new WorkerClient({
      module: new URL('./worker.ts', import.meta.url),
      workerData: { location, shortUrl } satisfies BatchWorkerData,
      resourceLimits,
      closeMs,
      onNotice: () => undefined,
    })
  }

  /** Runs a batch as `runBatch` does. Throws `overloaded` if too many batches wait, and `database_unavailable`. */
  run(request: BatchRequest): Promise<BatchResponse> {
    return this.#turns.run(() => this.#client.request(sentBatch(request)), String(request.account))
  }

  /** Lets the thread finish its batch. Idempotent. */
  close(): Promise<void> {
    return this.#client.close()
  }
}

function sentBatch(request: BatchRequest): SentBatch {
  const { change } = request
  if (change.kind !== 'store') return { request, rows: [] }
  const rows = change.rows.map((row) => (row instanceof Failure ? { error: toSent(row) } : row))
  return { request: { ...request, change: { ...change, rows: [] } }, rows }
}

/** Returns the batch of a message. */
export function receivedBatch({ request, rows: sent }: SentBatch): BatchRequest {
  const { change } = request
  if (change.kind !== 'store') return request
  const rows = sent.map((row) => ('error' in row ? (fromSent(row.error) as Failure) : row))
  return { ...request, change: { ...change, rows } }
}
