import { setTimeout as wait } from 'node:timers/promises'

/** Other writers of SQLite look for the lock every 2 ms. Milliseconds. */
const pauseMs = 5

/** To be awaited after each of many transactions: without a pause, those who wait for the lock might never get it. */
export function turnOfOthers(): Promise<void> {
  return wait(pauseMs)
}
