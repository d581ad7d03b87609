import { setTimeout as wait } from 'node:timers/promises'
import { databaseUnavailable } from '../../errors.ts'
import type { BatchWriter } from '../port.ts'
import { Connection, openDatabase } from './connection.ts'
import { GroupCommit } from './group-commit.ts'

/** Checkpoints run sooner than on the writer of the event loop. */
const pragmas = 'pragma cache_size = -12000; pragma wal_autocheckpoint = 1500; pragma journal_size_limit = 33554432'

/** Limits for truncating the log while others read it. Milliseconds. */
const maxAttempts = 100
const pauseMs = 2

/** Opens a file that has been migrated. */
export function openSqliteBatchWriter(path: string): BatchWriter {
  const connection = new Connection(openDatabase(path, 0, pragmas))
  const commits = new GroupCommit(connection)
  let isClosed = false
  return {
    async write(work) {
      if (isClosed) throw databaseUnavailable(new Error('The connection is closed.'))
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
      connection.database.close()
    },
  }
}
