import { setImmediate as nextTick } from 'node:timers/promises'
import { StartupFailure } from '../errors.ts'
import { databaseId } from '../instance/store.ts'
import type { Db } from '../storage/port.ts'
import { type Entry, type Line, type RecordEntry, readEntry, readLines, sourceIn, type Totals } from './format.ts'
import { type Detail, InvalidRecord, type Stored, type Target, type Transferable } from './transferable.ts'

/** Outcomes so far. */
interface Counts {
  stored: number
  /** Records that exist with the same values. */
  known: number
  refused: number
}

export interface Imported extends Counts {
  /** A sentence about missing lines; null if the file is complete. */
  readonly missing: string | null
}

export interface ImportListener {
  refused(line: number, reason: string): void
  progressed(counts: Counts): void
}

/** The account and the kinds of records. */
interface Destination extends Pick<Target, 'account' | 'asNew'> {
  readonly transferables: readonly (Transferable | Detail)[]
}

/** Lines per transaction. */
const batchSize = 200
/** Lines that are read in one event-loop tick. The longest take about a millisecond each. */
const linesPerTick = 8

/**
 * Stores the records of an export in an account, in one transaction per batch. An interrupted import can be run again,
 * because it recognizes stored records. Throws `StartupFailure` if the file is not an export.
 */
export async function importRecords(
  db: Db,
  { account, asNew, transferables }: Destination,
  file: AsyncIterable<Buffer>,
  listener: ImportListener,
): Promise<Imported> {
  const lines = readLines(file)
  const source = sourceOf((await lines.next()).value, transferables)
  const ids = new Ids()
  const idOf: Target['idOf'] = (plural, id) => ids.find(plural, id)
  const target = { account, asNew, source, isOwn: source === (await databaseId(db)), idOf, changed: new Set<number>() }
  const counts: Counts = { stored: 0, known: 0, refused: 0 }
  let end: Totals | undefined
  for await (const batch of batches(lines, transferables)) {
    // Serializable, because another import may store the same records at the same time.
    const outcomes = await db.write((tx) => storeAll(tx, target, batch, ids), 'serializable')
    ids.commit()
    for (const [index, outcome] of outcomes.entries()) {
      if (typeof outcome === 'string') counts[outcome] += 1
      else if (outcome instanceof InvalidRecord) {
        counts.refused += 1
        listener.refused(batch[index]?.line ?? 0, outcome.message)
      } else end = outcome.end
    }
    listener.progressed(counts)
  }
  for (const kind of transferables) if ('complete' in kind) await kind.complete(db, target)
  return { ...counts, missing: missingLines(counts, end) }
}

/** Compares the number of lines with the totals of the last line, because a file may be truncated. */
function missingLines({ stored, known, refused }: Counts, totals: Totals | undefined): string | null {
  if (totals === undefined) return 'The file ends before its last line, the "end": it was cut off.'
  const expected = Object.values(totals).reduce((sum, total) => sum + total, 0)
  const actual = stored + known + refused
  return actual >= expected ? null : `The file should have ${expected} records, but has ${actual}.`
}

function sourceOf(first: Line | undefined, transferables: Destination['transferables']): string {
  try {
    return sourceIn(first?.text ?? '', transferables)
  } catch (error) {
    throw error instanceof InvalidRecord ? new StartupFailure(`The file ${error.message}.`) : error
  }
}

interface NumberedEntry {
  readonly line: number
  readonly entry: Entry | InvalidRecord
}

async function* batches(
  lines: AsyncIterable<Line>,
  transferables: Destination['transferables'],
): AsyncGenerator<NumberedEntry[]> {
  let batch: NumberedEntry[] = []
  for await (const line of lines) {
    if (batch.length % linesPerTick === 0) await nextTick()
    if (batch.push({ line: line.number, entry: entryOf(line, transferables) }) < batchSize) continue
    yield batch
    batch = []
  }
  yield batch
}

/** Reads a line. Returns the error if it is invalid. */
function entryOf({ text }: Line, transferables: Destination['transferables']): Entry | InvalidRecord {
  try {
    return text === null ? tooLong : readEntry(text, transferables)
  } catch (error) {
    if (error instanceof InvalidRecord) return error
    throw error
  }
}

const tooLong = new InvalidRecord('The line is longer than 64 KiB, or not UTF-8.')

type Outcome = Stored['became'] | InvalidRecord | { readonly end: Totals }

async function storeAll(tx: Db, target: Target, batch: readonly NumberedEntry[], ids: Ids): Promise<Outcome[]> {
  ids.begin()
  const outcomes: Outcome[] = []
  const details = new Map<Detail, { readonly index: number; readonly item: unknown }[]>()
  for (const [index, { entry }] of batch.entries()) {
    if (entry instanceof InvalidRecord || 'end' in entry) outcomes[index] = entry
    else if ('detail' in entry) {
      details.set(entry.detail, [...(details.get(entry.detail) ?? []), { index, item: entry.item }])
    } else outcomes[index] = await storeRecord(tx, target, entry, ids)
  }
  // Details are stored together, so that rows which many of them change are written once.
  for (const [detail, read] of details) {
    const items = read.map(({ item }) => item)
    const stored = await detail.store(tx, target, items)
    for (const [at, { index }] of read.entries()) outcomes[index] = stored[at] as Outcome
  }
  return outcomes
}

async function storeRecord(tx: Db, target: Target, entry: RecordEntry, ids: Ids): Promise<Outcome> {
  try {
    const { became, id } = await entry.store(tx, target)
    if (entry.id !== undefined) ids.add(entry.of, entry.id, id)
    return became
  } catch (error) {
    if (error instanceof InvalidRecord) return error
    throw error
  }
}

/** Local ids by kind and source id. */
class Ids {
  readonly #committed = new Map<string, Map<number, number>>()
  /** Ids of the current transaction, which may run again. */
  #pending: { readonly plural: string; readonly sourceId: number; readonly id: number }[] = []

  begin(): void {
    this.#pending = []
  }

  add(plural: string, sourceId: number, id: number): void {
    this.#pending.push({ plural, sourceId, id })
  }

  commit(): void {
    for (const { plural, sourceId, id } of this.#pending) {
      const ids = this.#committed.get(plural) ?? new Map()
      this.#committed.set(plural, ids.set(sourceId, id))
    }
  }

  find(plural: string, sourceId: number): number | undefined {
    const pending = this.#pending.findLast((known) => known.plural === plural && known.sourceId === sourceId)
    return pending?.id ?? this.#committed.get(plural)?.get(sourceId)
  }
}
