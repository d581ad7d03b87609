/**
 * Entry of a reader thread: answers questions one by one, in the order in which they were asked.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '../errors.ts'
import { IndexReader } from './index-reader.ts'
import type { FromReader, ReaderOptions, ToReader } from './messages.ts'
import { ScanReader } from './scan-reader.ts'

const port = parentPort as MessagePort
const { kind, databasePath } = workerData as ReaderOptions
const say = (message: FromReader): void => port.postMessage(message)
const reader = kind === 'index' ? new IndexReader(databasePath, say) : new ScanReader(databasePath)

port.on('message', (message: ToReader) => {
  if (message.kind === 'question') return say(answer(message))
  if (message.kind === 'changed') return reader.changed()
  reader.close()
  port.close()
})

function answer({ id, listing }: Extract<ToReader, { kind: 'question' }>): FromReader {
  try {
    return { kind: 'answer', id, page: reader.answer(listing) }
  } catch (error) {
    const reason = reasonOf(error)
    return { kind: 'failed', id, error, ...(reason && { reason }) }
  }
}
