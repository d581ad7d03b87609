/** Entry of a reader thread: runs queries, and fills the search index if it is the thread that does so. */
import { workerData } from 'node:worker_threads'
import { Failure } from '../../errors.ts'
import { Periodic } from '../../lib/periodic.ts'
import { sendNotice, serveRequests } from '../../lib/worker-client.ts'
import { Connection, openDatabase, type SqlText } from './connection.ts'
import type { ReaderOptions, SentError } from './readers.ts'
import { indexSome } from './search.ts'

/** How long a reader waits for a recovery after a crash, and the index for writers. Milliseconds. */
const lockTimeoutMs = 1_000
/** How often the thread looks for records to index. Milliseconds. */
const pollMs = 100
/** How long it leaves the file to writers between two batches. Milliseconds. */
const pauseMs = 10

const { url, indexed } = workerData as ReaderOptions
// A power cut may take the newest entries of the index and their removal from the queue, but not one without the other.
const connection = new Connection(openDatabase(url, lockTimeoutMs, 'pragma synchronous = normal'))
const indexing = new Periodic(index, { everyMs: pollMs, onError: (error) => sendNotice(toSent(error)) })
if (indexed !== null) indexing.start(0)

serveRequests<SqlText, unknown[]>({
  handle: (query) => connection.execute(query),
  close: async () => {
    await indexing.close()
    connection.database.close()
  },
  toCloneable: toSent,
})

function index(): void {
  if (connection.run((db) => indexSome(db, indexed ?? {}))) indexing.runIn(pauseMs)
}

function toSent(error: unknown): SentError {
  if (!(error instanceof Failure)) return { message: String(error) }
  return { message: String(error.cause), reason: error.facts.reason }
}
