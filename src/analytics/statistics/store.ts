import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Breakdown, Dimension } from '../../storage/clicks/day-facts.ts'
import { decoderOf, spanOf } from '../../storage/clicks/day-parts.ts'
import type { Db } from '../../storage/port.ts'
import {
  type DayPart,
  linkParametersOf,
  linksAtOnce,
  parametersFrom,
  parametersOf,
  readAtOnce,
} from './day-parameters.ts'
import type { DayRange } from './day-range.ts'
import { type Scope, selectHeads, selectHoursOfLinks, selectOwned, selectParts } from './statements.ts'

/** Whose clicks: of a link, a domain or a space of the account, or of the whole account, whose id is then not read. */
export interface Subject {
  readonly scope: Scope
  readonly id: number
}

/** Whether the account has this link, domain or space. */
export async function hasRecord(db: Db, account: number, of: Exclude<Scope, 'account'>, id: number): Promise<boolean> {
  return (await db.all(selectOwned[of], { account, id })).length > 0
}

/** A stored day; `storage/clicks/day-parts.ts` says what its head is. */
interface Head {
  readonly day: number
  readonly head: Uint8Array
}

/**
 * Hands each stored day of the range to `read`, in no order. Reads some days at a time, so that the event loop is never held for
 * long. What is not the account's has no days.
 */
export async function readHeads(
  db: Db,
  account: number,
  { scope, id }: Subject,
  range: DayRange,
  read: (day: number, head: Uint8Array) => void,
): Promise<void> {
  await inGroups(range, async (first) => {
    const heads = await db.all(selectHeads[scope], { account, id, ...parametersFrom(first, range.to) })
    for (const { day, head } of heads) read(day, head)
  })
}

/** The same with these dimensions of each day. */
export async function readBreakdowns<Name extends Dimension>(
  db: Db,
  account: number,
  { scope, id }: Subject,
  range: DayRange,
  names: readonly Name[],
  read: (name: Name, breakdown: Breakdown) => void,
): Promise<void> {
  await inGroups(range, async (first) => {
    let heads: readonly Head[] = await db.all(selectHeads[scope], { account, id, ...parametersFrom(first, range.to) })
    while (heads.length > 0) {
      const { readers, changed } = await readersOf(heads)
      for (const name of names) {
        if (names.length > 1) await endOfTurn()
        for (const breakdownOf of readers) read(name, breakdownOf(name))
      }
      heads = changed
    }
  })

  /** How days are read, and those that were written to meanwhile: they may have their dimensions elsewhere by now. */
  async function readersOf(heads: readonly Head[]) {
    const readers: ((name: Name) => Breakdown)[] = []
    const parts = new Map<number, DayPart & Head>()
    for (const { day, head } of heads) {
      const span = spanOf(head, names)
      if (span === null) readers.push(decoderOf(head))
      else parts.set(day, { day, head, ...span })
    }
    const found =
      parts.size === 0 ? [] : await db.all(selectParts[scope], { account, id, ...parametersOf([...parts.values()]) })
    const changed = found.filter(({ day, head, part }) => {
      const asked = parts.get(day) as DayPart & Head
      const isSame = Buffer.compare(head, asked.head) === 0
      if (isSame) readers.push(decoderOf(head, asked.at, part))
      return !isSame
    })
    return { readers, changed }
  }
}

/**
 * Hands each stored day of the range of each of these links to `read`, in no order, with the hours of its facts as they are
 * stored, and not what follows them. Reads some links and days at a time. What is not the account's has no days.
 */
export async function readHoursOfLinks(
  db: Db,
  account: number,
  linkIds: readonly number[],
  { from, to }: DayRange,
  read: (id: number, day: number, hours: Uint8Array) => void,
): Promise<void> {
  for (let at = 0; at < linkIds.length; at += linksAtOnce) {
    const links = linkParametersOf(linkIds.slice(at, at + linksAtOnce))
    for (let first = from; first <= to; first += readAtOnce) {
      const days = await db.all(selectHoursOfLinks, { account, ...links, ...parametersFrom(first, to) })
      for (const { id, day, hours } of days) read(id, day, hours)
    }
  }
}

/** While the engine reads the days of one group, those of another are added up. */
const groupsAtOnce = 2

async function inGroups(range: DayRange, work: (first: number) => Promise<void>): Promise<void> {
  const firsts = firstsOf(range)
  const some = async () => {
    for (const first of firsts) await work(first)
  }
  await Promise.all(Array.from({ length: groupsAtOnce }, some))
}

function* firstsOf({ from, to }: DayRange): Generator<number> {
  for (let first = from; first <= to; first += readAtOnce) yield first
}
