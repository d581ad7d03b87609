import { databaseUnavailable, Failure } from '../errors.ts'
import type { Storage } from '../storage/port.ts'
import type { Report } from './report.ts'

export interface Health {
  /** Of the listener whose readiness is asked for. */
  readonly drain: { readonly isDraining: boolean }
  readonly storage: Pick<Storage, 'condition'>
}

/** A database that takes longer to answer is as good as none. Milliseconds. */
const timeoutMs = 2_000

/** Whether the process runs, and whether a balancer should send it requests. */
export function health({ drain, storage }: Health) {
  return {
    live: (): Report => report({ status: 'live' }),

    /** Throws `shutting_down` while the process drains, and `database_unavailable`. */
    ready: async (): Promise<Report> => {
      if (drain.isDraining) throw new Failure('shutting_down', 'The server is stopping.', { retryAfter: 1 })
      const condition = await inTime(storage.condition())
      // A full disk still serves reads, on every node alike: taking nodes out would only end those too.
      return report(condition === 'ok' ? { status: 'ready' } : { status: 'degraded', reason: condition })
    },
  }
}

function report(body: object): Report {
  return { contentType: 'application/json; charset=utf-8', body: JSON.stringify(body) }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const silence = new Error(`The database has not answered for ${timeoutMs} ms.`)
    timer = setTimeout(() => reject(databaseUnavailable(silence)), timeoutMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
