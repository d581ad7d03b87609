import { findDomainByName, insertDomain } from '../domains/store.ts'
import { Failure, StartupFailure } from '../errors.ts'
import type { Space } from '../spaces/schema.ts'
import { findSpace, insertSpace } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { type Entry, type Header, readEntry, readHeader, type Totals, Unusable } from './format.ts'
import { type Line, linesOf } from './lines.ts'
import { databaseId, findImportedSpace, rememberOrigin } from './store.ts'

/** What became of the records that were read. */
export interface Counts {
  stored: number
  /** They were there already, by an earlier import or otherwise, with the same values. */
  known: number
  refused: number
}

export interface Imported extends Counts {
  /** What the file lacks, in a sentence; null when it is all there. */
  readonly missing: string | null
}

/** Who is told as the work goes on. */
export interface Listener {
  refused(line: number, reason: string): void
  progressed(counts: Counts): void
}

/** Lines that one transaction takes. */
const batchSize = 200

/**
 * Stores the records of an export in an account, some at a time and each batch in one transaction. It can be ended at any
 * moment and begun anew: what is there already is known again, a domain by its name and a space by where it came from.
 * Throws `StartupFailure` when the file is no export.
 */
export async function importRecords(
  db: Db,
  account: number,
  file: AsyncIterable<Buffer>,
  listener: Listener,
): Promise<Imported> {
  const lines = linesOf(file)
  const header = headerOf((await lines.next()).value)
  const counts: Counts = { stored: 0, known: 0, refused: 0 }
  const end = new End()
  for await (const batch of batches(lines)) {
    // Another import may store the same spaces at this moment.
    const outcomes = await db.write((tx) => storeAll(tx, { account, header }, batch), 'serializable')
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.became !== 'end') counts[outcome.became] += 1
      if (outcome.became === 'refused') listener.refused(batch[index]?.number ?? 0, outcome.reason)
      end.saw(outcome)
    }
    listener.progressed(counts)
  }
  return { ...counts, missing: end.missing() }
}

function headerOf(first: Line | undefined): Header {
  try {
    return readHeader(first?.text ?? '')
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

interface Target {
  readonly account: number
  readonly header: Header
}

type Outcome =
  | { readonly became: 'stored' | 'known'; readonly of: keyof Totals }
  | { readonly became: 'refused'; readonly reason: string }
  | { readonly became: 'end'; readonly totals: Partial<Totals> }

async function storeAll(tx: Db, target: Target, batch: readonly Line[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const line of batch) outcomes.push(await outcomeOf(tx, target, line))
  return outcomes
}

/** What becomes of one line. Throws only what concerns all of them. */
async function outcomeOf(tx: Db, target: Target, { text }: Line): Promise<Outcome> {
  try {
    if (text === null) throw new Unusable('The line is longer than 64 KiB, or not UTF-8.')
    return await store(tx, target, readEntry(text))
  } catch (error) {
    if (error instanceof Unusable) return { became: 'refused', reason: error.message }
    throw error
  }
}

function store(tx: Db, target: Target, entry: Entry): Promise<Outcome> | Outcome {
  if ('domain' in entry) return storeDomain(tx, target, entry)
  if ('space' in entry) return storeSpace(tx, target, entry)
  return { became: 'end', totals: entry.end }
}

async function storeDomain(tx: Db, { account }: Target, entry: Extract<Entry, { domain: object }>): Promise<Outcome> {
  const { name, ...urls } = entry.domain
  try {
    await insertDomain(tx, account, name, urls, entry.times)
    return { became: 'stored', of: 'domains' }
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'name_taken')) throw error
    const there = await findDomainByName(tx, account, name.name)
    if (there === undefined) throw new Unusable(`name: ${error.message}`)
    const isSame = there.homepage_url === urls.homepage_url && there.not_found_url === urls.not_found_url
    if (!isSame) throw new Unusable(`name: ${name.name} is there already, with other URLs; its id is ${there.id}.`)
    return { became: 'known', of: 'domains' }
  }
}

async function storeSpace(tx: Db, target: Target, entry: Extract<Entry, { space: object }>): Promise<Outcome> {
  const { account, header } = target
  const { name, color } = entry.space
  const origin = { source: header.source, id: entry.id }
  const there = (await findImportedSpace(tx, account, origin)) ?? (await ownSpace(tx, target, entry.id))
  if (there === undefined) {
    const { record } = await insertSpace(tx, account, name, color, entry.times)
    await rememberOrigin(tx, account, record.id, origin)
    return { became: 'stored', of: 'spaces' }
  }
  if (there.name === name && there.color === color) return { became: 'known', of: 'spaces' }
  throw new Unusable(`id: It is there already, as space ${there.id}, with another name or color.`)
}

/** The space itself, where the export is one of this very account. */
async function ownSpace(tx: Db, { account, header }: Target, id: number): Promise<Space | undefined> {
  if (header.source !== (await databaseId(tx))) return undefined
  return (await findSpace(tx, account, id))?.record
}

/** Whether everything came that the last line tells of: a file may have been cut off between two lines. */
class End {
  readonly #seen = { domains: 0, spaces: 0 }
  #refused = 0
  #totals: Partial<Totals> | undefined

  saw(outcome: Outcome): void {
    if (outcome.became === 'end') this.#totals = outcome.totals
    else if (outcome.became === 'refused') this.#refused += 1
    else this.#seen[outcome.of] += 1
  }

  missing(): string | null {
    if (this.#totals === undefined) return 'The file ends before its last line, the "end": it was cut off.'
    const { domains = 0, spaces = 0 } = this.#totals
    const seen = this.#seen.domains + this.#seen.spaces + this.#refused
    return seen >= domains + spaces ? null : `The file tells of ${domains + spaces} records, but has ${seen}.`
  }
}
