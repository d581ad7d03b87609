/** Entry of a reader thread: runs queries, and fills the search index if it is the thread that does so. */
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { Failure } from '../../errors.ts'
import { Periodic } from '../../lib/periodic.ts'
import { sendNotice, serveRequests } from '../../lib/worker-client.ts'
import type { Values } from '../list-sources.ts'
import { Connection, isBusy, openDatabase, type SqlText } from './connection.ts'
import type { ReaderOptions } from './readers.ts'
import { indexSome } from './search-index.ts'

/** How long a query waits for a recovery after a crash. Milliseconds. */
const lockTimeoutMs = 1_000
/** How often the thread looks for records to index. Milliseconds. */
const pollMs = 100
/** How long it leaves the file to other writers after a batch. Milliseconds. */
const pauseMs = 10
/** The pause before another attempt if another connection is writing. Milliseconds. */
const busyRetryMs = 1

const { path, indexed } = workerData as ReaderOptions
const reader = new Connection(new DatabaseSync(path, { readOnly: true, timeout: lockTimeoutMs }))
const indexing = indexed && startIndexing(indexed)

serveRequests<SqlText, Values[]>({
  handle: (query) => reader.executeForValues(query),
  close: async () => {
    await indexing?.close()
    reader.database.close()
  },
})

function startIndexing(tables: NonNullable<ReaderOptions['indexed']>) {
  // A power cut may take the newest entries of the index, but then their records are pending again.
  const writer = openDatabase(path, 0, 'pragma synchronous = normal')
  const index = () => {
    try {
      if (indexSome(writer, tables)) periodic.runIn(pauseMs)
    } catch (error) {
      if (!isBusy(error)) throw error
      periodic.runIn(busyRetryMs)
    }
  }
  const onError = (error: unknown) => sendNotice(String(error instanceof Failure ? error.cause : error))
  const periodic = new Periodic(index, { everyMs: pollMs, onError })
  periodic.start(0)
  return {
    close: async () => {
      await periodic.close()
      writer.close()
    },
  }
}
