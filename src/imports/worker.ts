/** The thread that plans and applies imports, with its own connection to the database. */
import { setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import { sendNotice, serveRequests } from '../lib/worker-server.ts'
import type { AppliedRow } from '../links/actions.ts'
import { shortUrls } from '../names/short-url.ts'
import { openBatchWriter } from '../storage/batch-writer.ts'
import type { ImportWorkerData } from './import-worker.ts'
import { type ImportJob, runImportJob } from './jobs.ts'

const { location, shortUrl, urlSchemes } = workerData as ImportWorkerData
const database = await openBatchWriter(location, { storesRecords: true })
const rules = { shortUrl: shortUrls(shortUrl), urlSchemes }

// A third of the CPU time that other threads get. Linux has priorities of threads; elsewhere, this would slow down the process.
if (process.platform === 'linux') setPriority(5)

serveRequests<ImportJob, number>({
  handle: (job) => runImportJob(database, job, { rules, onApplied: (rows) => sendNotice<readonly AppliedRow[]>(rows) }),
  close: () => database.close(),
})
