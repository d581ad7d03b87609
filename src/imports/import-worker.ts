import { WorkerClient } from '../lib/worker-client.ts'
import type { AppliedRow } from '../links/actions.ts'
import type { BatchWorkerData } from '../links/batch-worker.ts'
import type { ImportJob } from './jobs.ts'

export type ImportWorkerData = BatchWorkerData

interface ImportWorkerOptions extends ImportWorkerData {
  /** Reports stored and changed links to the redirect server. */
  readonly onApplied: (rows: readonly AppliedRow[]) => unknown
}

/** How long the thread may take to end. Every transaction leaves the import in a state from which the next one continues. */
const closeMs = 500
const resourceLimits = { maxOldGenerationSizeMb: 160, maxYoungGenerationSizeMb: 16 }

/** Runs jobs in a thread, so that nothing of a file is parsed on the event loop. */
export class ImportWorker {
  readonly #client: WorkerClient<ImportJob, number, readonly AppliedRow[]>

  constructor({ onApplied, location, shortUrl, urlSchemes }: ImportWorkerOptions) {
    this.#client = new WorkerClient({
      module: new URL('./worker.ts', import.meta.url),
      workerData: { location, shortUrl, urlSchemes } satisfies ImportWorkerData,
      ...{ resourceLimits, closeMs, onNotice: onApplied },
    })
  }

  /** Runs a job as `runImportJob` does. Throws `database_unavailable` if the thread dies. */
  run(job: ImportJob): Promise<number> {
    return this.#client.request(job)
  }

  /** Ends the thread, even in the middle of a job. Idempotent. */
  close(): Promise<void> {
    return this.#client.close()
  }
}
