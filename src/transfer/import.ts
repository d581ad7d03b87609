import { StartupFailure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { type Entry, readEntry, sourceIn, type Totals } from './format.ts'
import { type Line, linesOf } from './lines.ts'
import { databaseId } from './store.ts'
import { type Detail, type Stored, type Target, type Transferable, Unusable } from './transferable.ts'

/** What became of the records that were read. */
interface Counts {
  stored: number
  /** They were there already, with the same values. */
  known: number
  refused: number
}

export interface Imported extends Counts {
  /** What the file lacks, in a sentence; null when it is complete. */
  readonly missing: string | null
}

/** Hears how the work goes on. */
export interface Listener {
  refused(line: number, reason: string): void
  progressed(counts: Counts): void
}

/** Where the records go, and which kinds there are. */
interface Destination extends Pick<Target, 'account' | 'asNew'> {
  readonly transferables: readonly (Transferable | Detail)[]
}

/** Lines that one transaction takes. */
const batchSize = 200

/**
 * Stores the records of an export in an account, in batches of one transaction each. It can be stopped at any moment and
 * run again: it recognises what it stored before. Throws `StartupFailure` when the file is no export.
 */
export async function importRecords(
  db: Db,
  { account, asNew, transferables }: Destination,
  file: AsyncIterable<Buffer>,
  listener: Listener,
): Promise<Imported> {
  const lines = linesOf(file)
  const source = sourceOf((await lines.next()).value, transferables)
  const ids = new Ids()
  const idOf: Target['idOf'] = (plural, id) => ids.find(plural, id)
  const target = { account, asNew, source, isOwn: source === (await databaseId(db)), idOf, changed: new Set<number>() }
  const counts: Counts = { stored: 0, known: 0, refused: 0 }
  const end = new End()
  for await (const batch of batches(lines)) {
    const entries = batch.map((line) => entryOf(line, transferables))
    // Another import may store the same records at this moment.
    const outcomes = await db.write((tx) => storeAll(tx, target, entries, ids), 'serializable')
    ids.keep()
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.became !== 'end') counts[outcome.became] += 1
      if (outcome.became === 'refused') listener.refused(batch[index]?.number ?? 0, outcome.reason)
      end.saw(outcome)
    }
    listener.progressed(counts)
  }
  for (const kind of transferables) if ('complete' in kind) await kind.complete(db, target)
  return { ...counts, missing: end.missing() }
}

function sourceOf(first: Line | undefined, transferables: Destination['transferables']): string {
  try {
    return sourceIn(first?.text ?? '', transferables)
  } catch (error) {
    throw error instanceof Unusable ? new StartupFailure(`The file ${error.message}.`) : error
  }
}

async function* batches(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = []
  for await (const line of lines) {
    if (batch.push(line) < batchSize) continue
    yield batch
    batch = []
  }
  yield batch
}

/** A line as it was read, or why it could not be. */
function entryOf({ text }: Line, transferables: Destination['transferables']): Entry | Unusable {
  try {
    return text === null ? tooLong : readEntry(text, transferables)
  } catch (error) {
    if (error instanceof Unusable) return error
    throw error
  }
}

const tooLong = new Unusable('The line is longer than 64 KiB, or not UTF-8.')

type Outcome =
  | { readonly became: Stored['became'] }
  | { readonly became: 'refused'; readonly reason: string }
  | { readonly became: 'end'; readonly totals: Totals }

async function storeAll(tx: Db, target: Target, entries: readonly (Entry | Unusable)[], ids: Ids): Promise<Outcome[]> {
  ids.begin()
  const outcomes = new Map<number, Outcome>()
  const details = new Map<Detail, { readonly index: number; readonly item: unknown }[]>()
  for (const [index, entry] of entries.entries()) {
    if ('detail' in entry)
      details.set(entry.detail, [...(details.get(entry.detail) ?? []), { index, item: entry.item }])
    else outcomes.set(index, await outcomeOf(tx, target, entry, ids))
  }
  // Together, so that rows that many of them change are written once.
  for (const [detail, read] of details) {
    const items = read.map(({ item }) => item)
    for (const [at, became] of (await detail.store(tx, target, items)).entries()) {
      const { index } = read[at] as (typeof read)[number]
      outcomes.set(index, became instanceof Unusable ? refused(became) : { became })
    }
  }
  return entries.map((_, index) => outcomes.get(index) as Outcome)
}

/** What becomes of one record, or the end. Throws only what concerns all of them. */
async function outcomeOf(tx: Db, target: Target, entry: Single, ids: Ids): Promise<Outcome> {
  try {
    if (entry instanceof Unusable) throw entry
    if ('end' in entry) return { became: 'end', totals: entry.end }
    const { became, id } = await entry.store(tx, target)
    if (entry.id !== undefined) ids.note(entry.of, entry.id, id)
    return { became }
  } catch (error) {
    if (error instanceof Unusable) return refused(error)
    throw error
  }
}

function refused({ message }: Unusable): Outcome {
  return { became: 'refused', reason: message }
}

/** A line that is stored by itself. */
type Single = Exclude<Entry, { readonly detail: Detail }> | Unusable

/** The ids that the records of the file have here, by kind. */
class Ids {
  readonly #kept = new Map<string, Map<number, number>>()
  /** Those of a transaction that may still be run again. */
  #noted: { readonly plural: string; readonly sourceId: number; readonly id: number }[] = []

  begin(): void {
    this.#noted = []
  }

  note(plural: string, sourceId: number, id: number): void {
    this.#noted.push({ plural, sourceId, id })
  }

  keep(): void {
    for (const { plural, sourceId, id } of this.#noted) {
      const ids = this.#kept.get(plural) ?? new Map()
      this.#kept.set(plural, ids.set(sourceId, id))
    }
  }

  find(plural: string, sourceId: number): number | undefined {
    const noted = this.#noted.findLast((known) => known.plural === plural && known.sourceId === sourceId)
    return noted?.id ?? this.#kept.get(plural)?.get(sourceId)
  }
}

/** Whether all records came that the last line counts: a file may have been cut off between two lines. */
class End {
  #seen = 0
  #totals: Totals | undefined

  saw(outcome: Outcome): void {
    if (outcome.became === 'end') this.#totals = outcome.totals
    else this.#seen += 1
  }

  missing(): string | null {
    if (this.#totals === undefined) return 'The file ends before its last line, the "end": it was cut off.'
    const told = Object.values(this.#totals).reduce((sum, total) => sum + total, 0)
    return this.#seen >= told ? null : `The file should have ${told} records, but has ${this.#seen}.`
  }
}
