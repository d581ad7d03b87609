/** Queues whose waiting items are taken together. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { overloaded } from '../errors.ts'

/** Further items are rejected. */
export const maxQueueLength = 10_000

/** Throws `overloaded` if a queue of writes with this many items is full. */
export function requireRoom(length: number): void {
  if (length >= maxQueueLength) throw overloaded('Too many writes are waiting. Try again shortly.')
}

/** Resolves after the first event-loop tick without new items in the queue, or when it has enough. */
export async function gather(queue: readonly unknown[], enough: number): Promise<void> {
  let before: number
  do {
    before = queue.length
    await nextTick()
  } while (before < queue.length && queue.length < enough)
}
