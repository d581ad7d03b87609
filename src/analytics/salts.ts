/** The secret salts of days, under which visitors are hashed. */
import { randomBytes } from 'node:crypto'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** How long a day's salt and visitors are retained after its start. They must be deleted within 48 hours. Milliseconds. */
export const saltMs = 30 * 3_600_000
const saltBytes = 16
/** Days in memory. Zones that exist need less than 100. */
const maxDays = 200
/** How long a visitor waits for the database, and the pause after a failure. Milliseconds. */
const [maxWaitMs, retryMs] = [1_000, 1_000]

/** Returns the salts by the start of their days, in their order. Creates missing and emptied ones. */
export async function ensureSalts(tx: Db, all: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>> {
  const days = all.toSorted((a, b) => a - b)
  const read = async () => {
    const rows = await tx.execute(
      query.selectFrom('click_salts').selectAll().where('day_start_ms', 'in', days).orderBy('day_start_ms'),
    )
    return new Map(rows.flatMap(({ day_start_ms, salt }) => (salt.length > 0 ? [[day_start_ms, salt]] : [])))
  }
  const salts = await read()
  const missing = days.filter((day) => !salts.has(day))
  if (missing.length === 0) return salts
  const rows = missing.map((day_start_ms) => ({ day_start_ms, salt: randomBytes(saltBytes) }))
  await tx.execute(
    query
      .insertInto('click_salts')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .column('day_start_ms')
          .doUpdateSet(({ ref }) => ({ salt: ref('excluded.salt') }))
          .where(({ fn }) => fn('length', ['click_salts.salt']), '=', 0),
      ),
  )
  return read()
}

interface StoredSalt {
  readonly salt: Uint8Array
  readonly removal: NodeJS.Timeout
}

/** The salts of current days in the memory of a process, no longer than in the database. */
export class Salts {
  readonly #database: Pick<Db, 'write'>
  readonly #salts = new Map<number, StoredSalt>()
  /** Reads that visitors wait for, until the transaction ends. */
  readonly #reads = new Map<number, Promise<Uint8Array | undefined>>()
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(database: Pick<Db, 'write'>) {
    this.#database = database
  }

  /**
   * Returns the salt of a day by its start: immediately if it is in memory. Otherwise reads or creates it. Undefined if the
   * database is unavailable or does not respond within a second, and for a day whose salt has been deleted.
   */
  of(dayStartMs: number): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (dayStartMs + saltMs <= Date.now()) return undefined
    const stored = this.#salts.get(dayStartMs)
    if (stored !== undefined) return stored.salt
    if (performance.now() - this.#failedAt < retryMs) return undefined
    const known = this.#reads.get(dayStartMs)
    if (known !== undefined) return known
    const read = this.#readInTime(dayStartMs)
    this.#reads.set(dayStartMs, read)
    return read
  }

  async #readInTime(dayStartMs: number): Promise<Uint8Array | undefined> {
    const isLate = Promise.withResolvers<undefined>()
    const deadline = setTimeout(() => {
      this.#failedAt = performance.now()
      isLate.resolve(undefined)
    }, maxWaitMs).unref()
    const read = this.#read(dayStartMs).finally(() => clearTimeout(deadline))
    return Promise.race([read, isLate.promise])
  }

  async #read(dayStartMs: number): Promise<Uint8Array | undefined> {
    try {
      const salts = await this.#database.write((tx) => ensureSalts(tx, [dayStartMs]))
      const salt = salts.get(dayStartMs)
      if (salt !== undefined) this.#store(dayStartMs, salt)
      return salt
    } catch {
      this.#failedAt = performance.now()
      return undefined
    } finally {
      this.#reads.delete(dayStartMs)
    }
  }

  #store(dayStartMs: number, salt: Uint8Array): void {
    const [oldest] = this.#salts.keys()
    if (oldest !== undefined && this.#salts.size >= maxDays) this.#remove(oldest)
    const removal = setTimeout(() => this.#remove(dayStartMs), dayStartMs + saltMs - Date.now()).unref()
    this.#salts.set(dayStartMs, { salt, removal })
  }

  #remove(dayStartMs: number): void {
    clearTimeout(this.#salts.get(dayStartMs)?.removal)
    this.#salts.delete(dayStartMs)
  }
}
