import { setTimeout as wait } from 'node:timers/promises'
import { databaseUnavailable, Failure } from '../errors.ts'
import { isReady, type Storage } from '../storage/port.ts'

export interface Health {
  /** The listener whose readiness is asked for. */
  readonly listener: { readonly isDraining: boolean }
  readonly storage: Pick<Storage, 'condition'>
}

/** A database that takes longer to answer is as good as none. Milliseconds. */
const timeoutMs = 2_000

/** The response to a load balancer. */
export interface Readiness {
  readonly httpStatus: 200 | 503
  readonly body: object
}

/**
 * Returns whether a load balancer should send requests to the process. Throws `shutting_down` while it drains, and
 * `database_unavailable`.
 */
export async function readiness({ listener, storage }: Health): Promise<Readiness> {
  if (listener.isDraining) throw new Failure('shutting_down', 'The server is stopping.', { retryAfter: 1 })
  const condition = await inTime(storage.condition())
  const body = condition === 'ok' ? { status: 'ready' } : { status: 'degraded', reason: condition }
  return { httpStatus: isReady(condition) ? 200 : 503, body }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = wait(timeoutMs, undefined, { signal: over.signal }).then(() => {
    throw databaseUnavailable(new Error(`The database has not answered for ${timeoutMs} ms.`))
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    over.abort()
  }
}
