import { databaseUnavailable, Failure } from '../errors.ts'
import type { Drain } from '../http/drain.ts'
import type { Storage } from '../storage/port.ts'
import type { Report } from './server.ts'

export interface Health {
  readonly drain: Pick<Drain, 'isDraining'>
  readonly storage: Pick<Storage, 'ping'>
}

/** A database that takes longer to say anything is as good as none. Milliseconds. */
const patienceMs = 2_000

/** Whether the process runs, and whether it should be sent requests. */
export function health({ drain, storage }: Health) {
  return {
    live: (): Report => report('live'),

    /** Throws `shutting_down` while the process drains, and `database_unavailable`. */
    ready: async (): Promise<Report> => {
      if (drain.isDraining) throw new Failure('shutting_down', 'The server is stopping.', { retryAfter: 1 })
      await inTime(storage.ping())
      return report('ready')
    },
  }
}

function report(status: string): Report {
  return { contentType: 'application/json; charset=utf-8', body: JSON.stringify({ status }) }
}

async function inTime(answer: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const silence = new Error(`The database has not answered for ${patienceMs} ms.`)
    timer = setTimeout(() => reject(databaseUnavailable(silence)), patienceMs)
  })
  try {
    await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
