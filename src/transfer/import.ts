import { isUtf8 } from 'node:buffer'
import { adoptTimeZones } from '../accounts/store.ts'
import { readTimeZones, type TimeZones } from '../accounts/time-zones.ts'
import { StartupFailure } from '../errors.ts'
import { databaseId } from '../instance/store.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Db } from '../storage/port.ts'
import { formatVersion, type RecordCounts } from './export.ts'
import {
  type Detail,
  InvalidRecord,
  idIn,
  type Members,
  resultOrInvalid,
  type Store,
  type Stored,
  type Target,
  type Transferable,
} from './transferable.ts'

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

interface ImportListener {
  refused(line: number, reason: string): void
  progressed(counts: Counts): void
}

/** Who imports, and the kinds of records. */
interface Destination extends Pick<Target, 'actor' | 'asNew'> {
  readonly transferables: readonly (Transferable | Detail)[]
}

/** Lines per transaction. */
const batchSize = 200

/** Stores the records of an export, a batch per transaction, unless they exist. Throws `StartupFailure`. */
export async function importRecords(
  db: Db,
  { actor, asNew, transferables }: Destination,
  file: AsyncIterable<Buffer>,
  listener: ImportListener,
): Promise<Imported> {
  const lines = readLines(file)
  const { source, timeZones } = readHeader((await lines.next()).value ?? '', transferables)
  await adoptTimeZones(db, actor, timeZones)
  const ids = new Ids()
  const idOf: Target['idOf'] = (plural, id) => ids.find(plural, id)
  const target = { actor, asNew, source, isOwn: source === (await databaseId(db)), idOf, changed: new Set<number>() }
  const counts: Counts = { stored: 0, known: 0, refused: 0 }
  let end: RecordCounts | undefined
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
function missingLines({ stored, known, refused }: Counts, totals: RecordCounts | undefined): string | null {
  if (totals === undefined) return 'The file is truncated: its last line is not the "end".'
  const expected = Object.values(totals).reduce((sum, total) => sum + total, 0)
  const actual = stored + known + refused
  return actual >= expected ? null : `The file should have ${expected} records, but it has ${actual}.`
}

/** A valid line with a record, which has its id at the source. */
interface RecordEntry {
  readonly of: string
  readonly id: number | undefined
  readonly store: Store
}

/** A valid line. */
type Entry = RecordEntry | { readonly detail: Detail; readonly item: unknown } | { readonly end: RecordCounts }

interface NumberedEntry {
  /** The first line is 1. */
  readonly line: number
  readonly entry: Entry | InvalidRecord
}

/** Reads the lines after the header. */
async function* batches(
  lines: AsyncIterable<string | null>,
  transferables: Destination['transferables'],
): AsyncGenerator<NumberedEntry[]> {
  let batch: NumberedEntry[] = []
  let line = 1
  const ticks = new Ticks()
  for await (const text of lines) {
    line += 1
    await ticks.next()
    const entry = text === null ? tooLong : await resultOrInvalid(() => readEntry(text, transferables))
    if (batch.push({ line, entry }) < batchSize) continue
    yield batch
    batch = []
  }
  yield batch
}

const tooLong = new InvalidRecord('The line is longer than 256 KiB, or is not UTF-8.')

type LineResult = Stored['became'] | InvalidRecord | { readonly end: RecordCounts }

async function storeAll(tx: Db, target: Target, batch: readonly NumberedEntry[], ids: Ids): Promise<LineResult[]> {
  ids.begin()
  const outcomes: LineResult[] = []
  const details = new Map<Detail, { readonly index: number; readonly item: unknown }[]>()
  for (const [index, { entry }] of batch.entries()) {
    if (entry instanceof InvalidRecord || 'end' in entry) outcomes[index] = entry
    else if ('detail' in entry) {
      details.getOrInsertComputed(entry.detail, () => []).push({ index, item: entry.item })
    } else outcomes[index] = await resultOrInvalid(() => storeRecord(tx, target, entry, ids))
  }
  // Details are stored together, so that rows which many of them change are written once.
  for (const [detail, read] of details) {
    const items = read.map(({ item }) => item)
    const stored = await detail.store(tx, target, items)
    for (const [at, { index }] of read.entries()) outcomes[index] = stored[at] as LineResult
  }
  return outcomes
}

async function storeRecord(tx: Db, target: Target, entry: RecordEntry, ids: Ids): Promise<LineResult> {
  const { became, id } = await entry.store(tx, target)
  if (entry.id !== undefined) ids.add(entry.of, entry.id, id)
  return became
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
      this.#committed.getOrInsertComputed(plural, () => new Map()).set(sourceId, id)
    }
  }

  find(plural: string, sourceId: number): number | undefined {
    const pending = this.#pending.findLast((known) => known.plural === plural && known.sourceId === sourceId)
    return pending?.id ?? this.#committed.get(plural)?.get(sourceId)
  }
}

/** Reads the first line, which has the source database's id and the time zones. Throws `StartupFailure`. */
function readHeader(
  header: string,
  transferables: Destination['transferables'],
): Pick<Target, 'source'> & { readonly timeZones: TimeZones | undefined } {
  const failure = (reason: string) => new StartupFailure(`The file ${reason}.`)
  for (const kind of transferables) {
    if ('spreadsheet' in kind && header.startsWith(kind.spreadsheet.head)) throw failure(kind.spreadsheet.isNone)
  }
  const { waymark_export: version, source, time_zones } = objectFrom(header) ?? {}
  if (typeof version !== 'number') throw failure('is not a Waymark export: its first line is not a header')
  if (version !== formatVersion)
    throw failure(`has format ${version}, but this version of Waymark only reads format ${formatVersion}`)
  if (typeof source !== 'string' || !/^[\w.:-]{1,100}$/.test(source)) {
    throw failure('is incomplete: its header has no "source", which identifies the exporting database')
  }
  const timeZones = readTimeZones(time_zones)
  if (time_zones !== undefined && timeZones === undefined) {
    throw failure(
      'names time zones that this server does not know: update Waymark, or correct "time_zones" in its header',
    )
  }
  return { source, timeZones }
}

/** Reads any other line by the rules of the API. Throws `InvalidRecord`. */
function readEntry(text: string, transferables: Destination['transferables']): Entry {
  const [[name, value] = [], ...others] = Object.entries(objectFrom(text) ?? {})
  const kind = transferables.find(({ singular }) => singular === name)
  if (others.length > 0 || !isObject(value) || (kind === undefined && name !== 'end')) {
    const names = transferables.map(({ singular }) => `"${singular}"`).join(', ')
    throw new InvalidRecord(`The line is not a JSON object with one member: ${names} or "end".`)
  }
  if (kind === undefined) return { end: totalsFrom(value) }
  if ('pages' in kind) return { detail: kind, item: kind.read(value) }
  return { of: kind.plural, id: idIn(value), store: kind.read(value) }
}

function totalsFrom(value: Members): RecordCounts {
  const areCounts = Object.values(value).every((total) => Number.isSafeInteger(total) && Number(total) >= 0)
  if (!areCounts) throw new InvalidRecord('The "end" must have the number of records of each kind.')
  return value as RecordCounts
}

function objectFrom(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A domain may have a logo and two files of apps, whose escaped text is up to twice as long. Bytes. */
const maxLineLength = 256 * 1024
const lineFeed = 0x0a

/** Yields the lines of a file: null for a long line, or if it isn't UTF-8. Buffers only one line. */
async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string | null> {
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer) => {
    length += part.length
    if (length > maxLineLength) parts = []
    else parts.push(part)
  }
  const take = () => {
    const line = length > maxLineLength ? null : decode(Buffer.concat(parts))
    parts = []
    length = 0
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end))
      yield take()
      start = end + 1
    }
    add(chunk.subarray(start))
  }
  if (length > 0) yield take()
}

/** Returns the text without a byte order mark; null if it is not UTF-8. */
function decode(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8').replace(/^\ufeff/, '') : null
}
