/** Entry of a reader thread: runs queries. One of them also fills the search index and checkpoints the write-ahead log. */
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { Failure } from '../../errors.ts'
import { Periodic } from '../../lib/periodic.ts'
import { sendNotice, serveRequests } from '../../lib/worker-server.ts'
import type { Values } from '../port.ts'
import { Connection, isBusy, openDatabase, type SqlText } from './connection.ts'
import type { ReaderOptions } from './readers.ts'
import { indexSome } from './search-index.ts'

/** How long a query waits for a recovery after a crash. Milliseconds. */
const lockTimeoutMs = 1_000
/** How often the thread looks for records to index. Milliseconds. */
const pollMs = 100
/** How long it leaves the file to other writers after a batch. Milliseconds. */
const pauseMs = 20
/** The pause before another attempt if another connection is writing. Milliseconds. */
const busyRetryMs = 1
/** A checkpoint runs when the log has this many new pages: 2 MB. */
const checkpointPages = 500
/** A log with this many pages starts again: 8 MB. */
const restartPages = 2_000

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
  const writer = openDatabase(path, 0, 'pragma synchronous = normal; pragma wal_autocheckpoint = 0')
  const index = () => {
    checkpoint(writer)
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

/** Checkpoints the write-ahead log if it is long. Otherwise, a commit on the event loop would. */
function checkpoint(writer: DatabaseSync): void {
  try {
    const [row] = writer.prepare('pragma wal_checkpoint(noop)').all()
    const [pages, done] = [Number(row?.log), Number(row?.checkpointed)]
    if (pages - done >= checkpointPages) writer.exec('pragma wal_checkpoint(passive)')
    // Locks out writers, but has little left to copy.
    if (pages >= restartPages) writer.exec('pragma wal_checkpoint(restart)')
  } catch {
    // Nothing is lost: the pages stay in the log, as when SQLite's own checkpoint after a commit fails.
  }
}
