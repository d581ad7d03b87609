import { setTimeout as wait } from 'node:timers/promises'
import { databaseUnavailable } from '../../errors.ts'
import { resources } from '../../resources.ts'
import type { BatchWriter, BatchWriterOptions } from '../port.ts'
import { isRead, type Query } from '../schema.ts'
import { BatchReader } from './batch-reader.ts'
import { Connection, openDatabase } from './connection.ts'
import { compiledForSqlite, GroupCommit } from './group-commit.ts'
import { indexSome } from './search-index.ts'

/** Checkpoints run sooner than on the writer of the event loop. */
const pragmas = 'pragma cache_size = -12000; pragma wal_autocheckpoint = 1500; pragma journal_size_limit = 33554432'

/** Limits for truncating the log while others read it. Milliseconds. */
const maxAttempts = 100
const pauseMs = 2

/** Records that the search index may lack before a batch. Searches compare their texts. */
const maxBacklog = 1_000
/** The transactions that index records before a batch: enough for the 1,000 records of the last one. */
const maxIndexings = 10
/** The pause before each of them, because other writers check the lock every millisecond. Milliseconds. */
const indexingPauseMs = 3

/** Opens a file that has been migrated. */
export function openSqliteBatchWriter(path: string, { storesRecords = false }: BatchWriterOptions = {}): BatchWriter {
  const connection = new Connection(openDatabase(path, 0, pragmas))
  const commits = new GroupCommit(connection)
  let reader: BatchReader | undefined
  let isClosed = false
  const requireOpen = () => {
    if (isClosed) throw databaseUnavailable(new Error('The connection is closed.'))
  }
  return {
    async execute<Row>(query: Query<Row>) {
      requireOpen()
      const compiled = compiledForSqlite(query)
      if (!isRead(compiled.query)) return commits.writeOne(() => connection.execute<Row>(compiled))
      reader ??= new BatchReader(path)
      return reader.read((committed) => committed.execute<Row>(compiled))
    },
    async write(work) {
      requireOpen()
      if (storesRecords) await shortenBacklog(connection)
      // It may have been closed meanwhile.
      requireOpen()
      return commits.write(work)
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
      await reader?.close()
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
async function shortenBacklog(connection: Connection): Promise<void> {
  const { database } = connection
  try {
    for (let n = 0; n < maxIndexings && !database.isTransaction; n++) {
      const [row] = connection.execute<{ size: number }>(backlog)
      if (Number(row?.size) <= maxBacklog) return
      await wait(indexingPauseMs)
      if (database.isTransaction || !indexSome(database, resources)) return
    }
  } catch {
    // The other thread may be writing. It reports errors.
  }
}
