/** The thread that runs batches, with its own connection to the database. */
import { workerData } from 'node:worker_threads'
import { serveRequests } from '../lib/worker-server.ts'
import { shortUrls } from '../names/short-url.ts'
import { openBatchWriter } from '../storage/batch-writer.ts'
import { runBatch } from './batch.ts'
import { type BatchWorkerData, receivedBatch, type SentBatch, type SentResponse, sentResponse } from './batch-worker.ts'

const { location, shortUrl, urlSchemes } = workerData as BatchWorkerData
const database = await openBatchWriter(location, { storesRecords: true })
const rules = { shortUrl: shortUrls(shortUrl), urlSchemes }

serveRequests<SentBatch, SentResponse>({
  handle: async (sent) => sentResponse(await runBatch(database, receivedBatch(sent), rules)),
  transferred: ({ body }) => [body.buffer],
  close: () => database.close(),
})
