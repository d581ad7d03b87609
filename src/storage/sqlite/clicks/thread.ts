/**
 * Entry of the thread that writes clicks, with a connection of its own. A link's totals and their place in the index are
 * anywhere in the file: a batch takes tens of milliseconds, which the event loop does not have.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../connection.ts'
import { reasonOf } from '../errors.ts'
import { transact } from '../transact.ts'
import { addClicksTo } from './added.ts'
import type { FromWriter, ToWriter } from './writer.ts'

/** How long a batch waits for the lock of other writers. Milliseconds. */
const lockTimeoutMs = 5_000
/** Other writers look for the lock every 2 ms: after each batch they get their turn. Milliseconds. */
const pauseMs = 5
/**
 * The log is copied back sooner than by the writer on the event loop, so that this thread does it and not that one.
 * Pages.
 */
const checkpointPages = 3_500

const port = parentPort as MessagePort
const database = openDatabase(
  workerData as string,
  lockTimeoutMs,
  `pragma cache_size = -12000; pragma wal_autocheckpoint = ${checkpointPages}; pragma journal_size_limit = 33554432`,
)
const asleep = new Int32Array(new SharedArrayBuffer(4))

port.on('message', (batch: ToWriter) => {
  if (batch === null) {
    database.close()
    port.close()
    return
  }
  port.postMessage(answer(batch))
  Atomics.wait(asleep, 0, 0, pauseMs)
})

function answer({ id, ids, clicks, times }: NonNullable<ToWriter>): FromWriter {
  try {
    transact(database, 'immediate', () => {
      for (const [at, link] of ids.entries()) {
        addClicksTo(database, { id: link, clicks: clicks[at] as number, lastClickedAt: times[at] as number })
      }
    })
    return { id }
  } catch (error) {
    const reason = reasonOf(error)
    return { id, error, ...(reason && { reason }) }
  }
}
