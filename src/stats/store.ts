import type { Db } from '../storage/port.ts'
import { linksAtOnce, parametersFrom, parametersOf, readAtOnce } from './day-parameters.ts'
import type { DayRange } from './day-range.ts'
import { type Scope, selectDays, selectHoursOfLinks, selectOwned } from './statements.ts'

/** Whose clicks: of a link, a domain or a space of the account, or of the whole account, whose id is then not read. */
export interface Subject {
  readonly scope: Scope
  readonly id: number
}

/** Whether the account has this link, domain or space. */
export async function hasRecord(db: Db, account: number, of: Exclude<Scope, 'account'>, id: number): Promise<boolean> {
  return (await db.all(selectOwned[of], { account, id })).length > 0
}

/**
 * Hands each stored day of the range to `read`, in no order, with its facts as they are stored. Reads some days at a time, so
 * that the event loop is never held for long. What is not the account's has no days.
 */
export async function readDays(
  db: Db,
  account: number,
  { scope, id }: Subject,
  { from, to }: DayRange,
  read: (day: number, facts: Uint8Array) => void,
): Promise<void> {
  for (let first = from; first <= to; first += readAtOnce) {
    const days = await db.all(selectDays[scope], { account, id, ...parametersFrom(first, to) })
    for (const { day, facts } of days) read(day, facts)
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
    const links = parametersOf(linkIds.slice(at, at + linksAtOnce))
    for (let first = from; first <= to; first += readAtOnce) {
      const days = await db.all(selectHoursOfLinks, { account, ...links, ...parametersFrom(first, to) })
      for (const { id, day, hours } of days) read(id, day, hours)
    }
  }
}
