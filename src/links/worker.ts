/** The thread that runs batches, with its own connection to the database. */
import { workerData } from 'node:worker_threads'
import { serveRequests } from '../lib/worker-server.ts'
import { shortUrls } from '../names/short-url.ts'
import { openBatchWriter } from '../storage/batch-writer.ts'
import { type BatchResponse, runBatch } from './batch.ts'
import { type BatchWorkerData, receivedBatch, type SentBatch } from './batch-worker.ts'

const { location, shortUrl, urlSchemes } = workerData as BatchWorkerData
const database = await openBatchWriter(location, { storesRecords: true })
const rules = { shortUrl: shortUrls(shortUrl), urlSchemes }

serveRequests<SentBatch, BatchResponse>({
  handle: (sent) => runBatch(database, receivedBatch(sent), rules),
  transferred: ({ body }) => [body.buffer],
  close: () => database.close(),
})
