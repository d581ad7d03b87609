import type { Db } from '../storage/port.ts'
import { parametersFrom, readAtOnce } from './day-parameters.ts'
import type { DayRange } from './day-range.ts'
import { type Scope, selectDays, selectOwned } from './statements.ts'

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
