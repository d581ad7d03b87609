/**
 * How clicks are written: totals, visitors and the facts of days in one transaction, so that they always agree.
 */
import { randomBytes } from 'node:crypto'
import { forgetSome, leaveOutForgotten, moveNext } from './corrections.ts'
import { dayOf } from './keys.ts'
import { type Click, type Recorded, record, totalsOf } from './recording.ts'
import { forgetVisitors } from './sweep.ts'
import type { ClickConnection, ClickTables } from './tables.ts'
import { turnOfOthers } from './turns.ts'

const saltBytes = 16

/** Gets clicks with what became of them. */
export type PassOn = (clicks: readonly Click[], recorded: readonly Recorded[]) => void

const ignore: PassOn = () => undefined

/** Writes the clicks of one process. */
export class ClickBook {
  readonly #connection: ClickConnection
  readonly #writer: string
  /** By day. They are destroyed in the database, and forgotten here with the next day. */
  readonly #salts = new Map<number, Uint8Array>()

  /** `writer` names the process, and no other one ever. */
  constructor(connection: ClickConnection, writer: string) {
    this.#connection = connection
    this.#writer = writer
  }

  /**
   * Writes a batch, without clicks that were forgotten while they waited, and returns what became of the others. Batches are
   * numbered in ascending order; one that was written before is left out: null. Throws `database_unavailable`, and then the
   * same batch may be tried again. `passOn` gets what is written just before the commit, again if that fails.
   */
  async write(batch: number, clicks: readonly Click[], passOn: PassOn = ignore): Promise<Recorded[] | null> {
    return this.#transact(clicks, async (tables, salts) => {
      const day = Math.max(...clicks.map(({ atMs }) => dayOf(atMs)))
      if (!(await tables.noteBatch(this.#writer, batch, day))) return null
      const owners = await tables.addTotals(totalsOf(clicks))
      const left = await leaveOutForgotten(tables, clicks, owners)
      const recorded = await record(tables, left, owners, salts)
      passOn(left, recorded)
      return recorded
    })
  }

  /**
   * Takes a person's click of those that the limit of its link leaves, and writes it; false if there is none left. Of those
   * who ask at once, on all nodes, no more get one than were left. Throws `database_unavailable`.
   */
  take(click: Click, passOn: PassOn = ignore): Promise<boolean> {
    return this.#transact([click], async (tables, salts) => {
      const owners = await tables.takeClick(click.link, click.atMs)
      if (owners === undefined) return false
      passOn([click], await record(tables, [click], [owners], salts))
      return true
    })
  }

  /**
   * Forgets the clicks of the account's link: its totals, its days, and what these added to the days of those it belongs to.
   * False if there is no such link. Throws `database_unavailable`.
   */
  async forget(account: number, link: number): Promise<boolean> {
    for (;;) {
      const isMore = await this.#connection.write((tables) => forgetSome(tables, account, link, Date.now()))
      if (isMore === true) {
        await turnOfOthers()
        continue
      }
      // What is cut off later is no reason to refuse.
      if (isMore === false) await this.#connection.scrub().catch(() => undefined)
      return isMore !== null
    }
  }

  /** Has the clicks of links follow them to other spaces. Throws `database_unavailable`. */
  async move(): Promise<void> {
    while (await this.#connection.write(moveNext)) await turnOfOthers()
  }

  /** Forgets the salts of days before `day` that are in memory. */
  dropSalts(day: number): void {
    for (const known of this.#salts.keys()) if (known < day) this.#salts.delete(known)
  }

  /** Deletes the visitors and salts of days before `day`, here too. Throws `database_unavailable`. */
  async forgetVisitors(day: number): Promise<void> {
    this.dropSalts(day)
    await forgetVisitors(this.#connection, day)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  async #transact<T>(
    clicks: readonly Click[],
    work: (tables: ClickTables, salts: ReadonlyMap<number, Uint8Array>) => Promise<T>,
  ): Promise<T> {
    const days = [...new Set(clicks.map(({ atMs }) => dayOf(atMs)))].sort((a, b) => a - b)
    const salts = new Map<number, Uint8Array>()
    const result = await this.#connection.write(async (tables) => {
      for (const day of days) {
        salts.set(day, this.#salts.get(day) ?? (await tables.salt(day, randomBytes(saltBytes))))
      }
      return work(tables, salts)
    })
    this.#keep(salts)
    return result
  }

  /** Those of this transaction and no others: what is not used any more is forgotten. */
  #keep(salts: ReadonlyMap<number, Uint8Array>): void {
    this.#salts.clear()
    for (const [day, salt] of salts) this.#salts.set(day, salt)
  }
}
