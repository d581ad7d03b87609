import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { Periodic } from '../lib/periodic.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import type { RateCounter, WindowCount } from './rate-counter.ts'

/** Stores the counts of the process `node`. A later count of the same window replaces an earlier one. */
export function storeCounts(db: Db, node: string, counts: readonly WindowCount[]): Promise<void> {
  return db.write(async (tx) => {
    for (const { subject, endsAt, requests } of counts) {
      await tx.execute(
        query
          .insertInto('request_counts')
          .values({ subject, ends_at: endsAt, node, requests })
          .onConflict((conflict) => conflict.columns(['subject', 'ends_at', 'node']).doUpdateSet({ requests })),
      )
    }
  })
}

/** Few enough not to block the event loop. Subjects near their limits are read first. */
const maxRows = 5_000

/** Sums the counts of all other processes in windows that end after `now`, in Unix milliseconds. */
export function sumRemoteCounts(db: Db, node: string, now: number): Promise<WindowCount[]> {
  return db.execute(
    query
      .selectFrom('request_counts')
      .select(['subject', 'ends_at as endsAt', sql<number>`cast(sum(requests) as bigint)`.as('requests')])
      .where('ends_at', '>', now)
      .where('node', '<>', node)
      .groupBy(['subject', 'ends_at'])
      .orderBy('requests', 'desc')
      .limit(maxRows),
  )
}

/** Deletes the counts of windows that ended before `then`, in Unix milliseconds. */
export async function deleteCounts(db: Db, then: number): Promise<void> {
  await db.execute(query.deleteFrom('request_counts').where('ends_at', '<', then))
}

/** The interval of syncs, and the delay of a sync after counts have changed. Milliseconds. */
const everyMs = 2_000
const delayMs = 10
/** Subjects of each kind that one sync publishes. */
const batchSize = 200
const sweepEveryMs = 60_000

/** Shares counts with other processes through the database. Until it responds, each process uses its own counts. */
export class CountSync {
  readonly #db: Db
  readonly #counters: Readonly<Record<string, RateCounter>>
  readonly #node = randomUUID()
  readonly #periodic: Periodic
  #isHurried = false
  /** Whether the last sync failed. The next one is then not hurried, to spare the database. */
  #isDown = false
  /** Monotonic milliseconds. */
  #nextSweepAt = 0

  /** `counters` has a name for each kind of subject, which must be the same in all processes. */
  constructor(db: Db, counters: Readonly<Record<string, RateCounter>>) {
    this.#db = db
    this.#counters = counters
    this.#periodic = new Periodic(() => this.#sync(), {
      everyMs,
      onError: () => {
        this.#isDown = true
      },
    })
  }

  /** Loads the current counts of the other processes, and keeps synchronizing them. */
  start(): void {
    this.#periodic.start(0)
  }

  hurry(): void {
    if (this.#isHurried || this.#isDown) return
    this.#isHurried = true
    this.#periodic.runIn(delayMs)
  }

  async close(): Promise<void> {
    await this.#periodic.close()
    if (this.#periodic.isStarted) await this.#publish().catch(() => undefined)
  }

  async #sync(): Promise<void> {
    this.#isHurried = false
    const isSweepDue = performance.now() >= this.#nextSweepAt
    if (isSweepDue) {
      this.#nextSweepAt = performance.now() + sweepEveryMs
      for (const counter of Object.values(this.#counters)) counter.sweep()
    }
    await this.#publish()
    for (const { subject, ...count } of await sumRemoteCounts(this.#db, this.#node, Date.now())) {
      const colon = subject.indexOf(':')
      this.#counters[subject.slice(0, colon)]?.setRemote({ subject: subject.slice(colon + 1), ...count })
    }
    if (isSweepDue) await deleteCounts(this.#db, Date.now() - sweepEveryMs)
    this.#isDown = false
  }

  async #publish(): Promise<void> {
    for (const [kind, counter] of Object.entries(this.#counters)) {
      const counts = counter.takeUnpublished(batchSize)
      if (counts.length === 0) continue
      const named = counts.map((count) => ({ ...count, subject: `${kind}:${count.subject}` }))
      try {
        await storeCounts(this.#db, this.#node, named)
      } catch (error) {
        counter.markUnpublished(counts)
        throw error
      }
    }
  }
}
