import { Failure } from '../errors.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { WorkerClient } from '../lib/worker-client.ts'
import { fromSent, type SentError, toSent } from '../lib/worker-server.ts'
import type { StorageLocation } from '../storage/port.ts'
import type { AppliedRow } from './actions.ts'
import type { BatchRequest, BatchResponse } from './batch.ts'
import type { PreviewedRow } from './batch-preview.ts'
import type { LinkRules } from './link-violations.ts'
import type { NewLink } from './schema.ts'

export interface BatchWorkerData extends Pick<LinkRules, 'urlSchemes'> {
  readonly location: StorageLocation
  /** The configured `SHORT_URL`. */
  readonly shortUrl: string
}

interface BatchWorkerOptions extends BatchWorkerData {
  /** Makes batches wait for each other. */
  readonly turns: Semaphore
  /** Resolves when the clicks that this process has counted are written, or the database has failed. */
  readonly flush: () => Promise<void>
  /** Reports the applied rows to the redirect server. */
  readonly onApplied: (rows: readonly AppliedRow[]) => Promise<void>
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
  readonly #client: WorkerClient<SentBatch, SentResponse, never>
  readonly #options: BatchWorkerOptions

  constructor(options: BatchWorkerOptions) {
    const { location, shortUrl, urlSchemes } = options
    this.#options = options
    this.#client = new WorkerClient({
      module: new URL('./worker.ts', import.meta.url),
      workerData: { location, shortUrl, urlSchemes } satisfies BatchWorkerData,
      resourceLimits,
      closeMs,
      onNotice: () => undefined,
    })
  }

  /** Runs a batch as `runBatch` does. Throws `overloaded` if too many batches wait, and `database_unavailable`. */
  async run(request: BatchRequest): Promise<BatchResponse> {
    const { turns, flush, onApplied } = this.#options
    // Clicks that are written later have to find the event of the deletion.
    if (request.change.kind === 'delete') await flush()
    const run = () => this.#client.request(sentBatch(request))
    const result = await turns.run(run, String(request.actor.account))
    await onApplied(result.applied)
    return receivedResponse(result)
  }

  /** Lets the thread finish its batch. Idempotent. */
  close(): Promise<void> {
    return this.#client.close()
  }
}

/** A response as the thread sends it. */
export type SentResponse = Omit<BatchResponse, 'preview'> & {
  readonly preview: readonly (Omit<PreviewedRow, 'failure'> & { readonly failure: SentError | null })[]
}

/** Returns a response as the thread can send it. */
export function sentResponse({ preview, ...response }: BatchResponse): SentResponse {
  return { ...response, preview: preview.map((row) => ({ ...row, failure: row.failure && toSent(row.failure) })) }
}

function receivedResponse({ preview, ...response }: SentResponse): BatchResponse {
  const rows = preview.map((row) => ({ ...row, failure: row.failure && (fromSent(row.failure) as Failure) }))
  return { ...response, preview: rows }
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
