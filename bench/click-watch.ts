import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { StorageLocation } from '../src/storage/port.ts'
import { UnexpectedAnswers } from './load.ts'

const pollMs = 50
/** A timeout for a busy machine; clicks are normally written within a second. */
const patienceMs = 20_000

const sumOfClicks = 'select coalesce(sum(clicks), 0) as clicks from link_clicks'

interface Sums {
  sum(): Promise<number>
  close(): Promise<void>
}

/** Counts the clicks in the database, because an uncounted redirect would cost less. */
export class ClickWatch {
  readonly #sums: Sums
  #last: number
  /** Visits without a response that may have been counted. */
  #open = 0

  private constructor(sums: Sums, last: number) {
    this.#sums = sums
    this.#last = last
  }

  static async of(location: StorageLocation): Promise<ClickWatch> {
    const sums = location.engine === 'sqlite' ? sumsOnSqlite(location.path) : await sumsOnPostgres(location.url)
    return new ClickWatch(sums, await sums.sum())
  }

  /**
   * Resolves once there are at least `least` clicks more than after the last call. Throws `UnexpectedAnswers` if they do
   * not come, or if there are more than `most`.
   */
  async grown(least: number, most: number): Promise<void> {
    const deadline = performance.now() + patienceMs
    const max = this.#open + most
    for (;;) {
      const sum = await this.#sums.sum()
      const grown = sum - this.#last
      if (grown > max) throw new UnexpectedAnswers(`${grown} clicks were counted, but ${max} visits made`)
      if (grown >= least) {
        this.#last = sum
        this.#open = max - grown
        return
      }
      if (performance.now() > deadline) throw new UnexpectedAnswers(`${grown} clicks were counted of ${least} visits`)
      await sleep(pollMs)
    }
  }

  close(): Promise<void> {
    return this.#sums.close()
  }
}

function sumsOnSqlite(path: string): Sums {
  const db = new DatabaseSync(path, { readOnly: true })
  const select = db.prepare(sumOfClicks)
  return { sum: async () => Number(select.get()?.clicks), close: async () => db.close() }
}

async function sumsOnPostgres(url: string): Promise<Sums> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { sum: async () => Number((await client.query(sumOfClicks)).rows[0].clicks), close: () => client.end() }
}
