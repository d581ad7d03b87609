import { setTimeout as wait } from 'node:timers/promises'
import { databaseUnavailable } from '../../errors.ts'
import { resources } from '../../resources.ts'
import type { BatchWriter, BatchWriterOptions } from '../port.ts'
import { Connection, openDatabase } from './connection.ts'
import { GroupCommit } from './group-commit.ts'
import { indexSome } from './search-index.ts'

/** Checkpoints run sooner than on the writer of the event loop. */
const pragmas = 'pragma cache_size = -12000; pragma wal_autocheckpoint = 1500; pragma journal_size_limit = 33554432'

/** Limits for truncating the log while others read it. Milliseconds. */
const maxAttempts = 100
const pauseMs = 2

/** Records that the search index may lack after a batch. Searches compare their texts. */
const maxBacklog = 1_000
/** The transactions that index records after a batch: enough for the 1,000 records of the batch. */
const maxIndexings = 10

/** Opens a file that has been migrated. */
export function openSqliteBatchWriter(path: string, { storesRecords = false }: BatchWriterOptions = {}): BatchWriter {
  const connection = new Connection(openDatabase(path, 0, pragmas))
  const commits = new GroupCommit(connection)
  let isClosed = false
  return {
    async write(work) {
      if (isClosed) throw databaseUnavailable(new Error('The connection is closed.'))
      const result = await commits.write(work)
      if (storesRecords) shortenBacklog(connection)
      return result
    },
    // Deleted rows are in the log until it is written again from its start.
    async scrub() {
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        await commits.drained()
        const checkpoint = { sql: 'pragma wal_checkpoint(truncate)', parameters: [] }
        const [row] = connection.execute<{ busy: number }>(checkpoint)
        if (row?.busy === 0) return
        await wait(pauseMs)
      }
      throw databaseUnavailable(new Error('The log is being read, and could not be truncated.'))
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await commits.drained()
      connection.database.close()
    },
  }
}

/** Counts the records that the search index lacks, up to `maxBacklog + 1`. */
const backlog = {
  sql: `select count(*) as size from (select 1 from search_changes limit ${maxBacklog + 1})`,
  parameters: [],
}

/** Indexes some records if the search index lacks many, because imports store them faster than the thread of searches indexes. */
function shortenBacklog(connection: Connection): void {
  const { database } = connection
  try {
    for (let n = 0; n < maxIndexings && !database.isTransaction; n++) {
      const [row] = connection.execute<{ size: number }>(backlog)
      if (Number(row?.size) <= maxBacklog || !indexSome(database, resources)) return
    }
  } catch {
    // The batch is stored. The other thread may be writing. It reports errors.
  }
}
