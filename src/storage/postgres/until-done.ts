import { setTimeout as wait } from 'node:timers/promises'
import { isSerializationFailure } from './errors.ts'

/** How often a transaction is run while others are in its way. */
const attempts = 10
/** Longest pause before the second run; it grows with each. Milliseconds. */
const pauseMs = 10

/** What `transaction` returns, run again when the server gave it up for others. Throws what it throws at last. */
export async function untilDone<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction()
    } catch (error) {
      if (attempt === attempts || !isSerializationFailure(error)) throw error
    }
    await wait(Math.random() * pauseMs * attempt)
  }
}
