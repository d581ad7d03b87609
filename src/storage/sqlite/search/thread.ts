/**
 * Entry of a reader thread: answers questions one by one, in the order in which they were asked.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '../errors.ts'
import { IndexReader } from './index-reader.ts'
import type { FromReader, ReaderOptions, ToReader } from './lane.ts'
import { ScanReader } from './scan-reader.ts'

const port = parentPort as MessagePort
const options = workerData as ReaderOptions
const say = (message: FromReader): void => port.postMessage(message)
const reader = options.kind === 'index' ? new IndexReader(options, say) : new ScanReader(options)

port.on('message', (question: ToReader) => {
  if (question !== null) return say(answer(question))
  reader.close()
  port.close()
})

function answer({ id, listing }: NonNullable<ToReader>): FromReader {
  try {
    return { kind: 'answer', id, page: reader.answer(listing) }
  } catch (error) {
    const reason = reasonOf(error)
    return { kind: 'failed', id, error, ...(reason && { reason }) }
  }
}
