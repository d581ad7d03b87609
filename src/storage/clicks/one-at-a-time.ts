import { databaseUnavailable } from '../../errors.ts'
import type { ClickConnection } from './tables.ts'

/**
 * The connection for several who use it at once: one transaction runs after the other, in the order in which they were
 * asked for. To close it waits for those.
 */
export function oneAtATime(connection: ClickConnection): ClickConnection {
  let last: Promise<unknown> = Promise.resolve()
  let closed: Promise<void> | undefined
  const next = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed !== undefined) return Promise.reject(databaseUnavailable(new Error('The connection is closed.')))
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
  return {
    write: (work) => next(() => connection.write(work)),
    scrub: () => next(() => connection.scrub()),
    close: () => {
      closed ??= last.then(() => connection.close())
      return closed
    },
  }
}
