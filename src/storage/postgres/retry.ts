import { setTimeout as wait } from 'node:timers/promises'
import { isSerializationFailure } from './errors.ts'

const maxAttempts = 10
/** The longest pause before the second attempt; it grows with each. Milliseconds. */
const pauseMs = 10

/** What `transaction` returns. It runs again after a serialization failure; throws what the last attempt throws. */
export async function retry<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction()
    } catch (error) {
      if (attempt === maxAttempts || !isSerializationFailure(error)) throw error
    }
    await wait(Math.random() * pauseMs * attempt)
  }
}
