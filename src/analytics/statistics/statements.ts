/** Queries for stored days. */
import type { RawBuilder } from 'kysely'
import { clickLevels, query } from '../../storage/schema.ts'
import type { Counts } from '../day.ts'
import type { DayRange } from './day-range.ts'

/** A link, a domain, a space or a tag of the account, or the whole account, whose id is not read. */
export interface Subject {
  readonly level: keyof typeof clickLevels | 'tag'
  readonly id: number
}

/** The columns with totals. */
export const totals = ['clicks', 'unique_clicks', 'bots', 'previews'] as const

/** Stored days that have been read. */
export interface StoredDays extends Counts {
  readonly day: number
  /** A JSON list of their hours. */
  readonly hours: string
  /** A JSON list of their breakdowns. */
  readonly breakdowns: string
  /** A JSON list of links with their human clicks; null if the breakdowns have them. */
  readonly links: string | null
}

/** SQL for the JSON to read, as text. */
export interface DayColumns {
  readonly hours: RawBuilder<string>
  readonly breakdowns: RawBuilder<string>
}

/** Selects the account's record. A link is gone as soon as its domain is being removed. */
export function ownedRecord(
  account: number,
  level: Exclude<Subject['level'], 'account'>,
  id: number | RawBuilder<number>,
) {
  if (level !== 'link') {
    return query.selectFrom(`${level}s`).select('id').where('id', '=', id).where('account_id', '=', account)
  }
  return query
    .selectFrom('links')
    .innerJoin('domains', 'domains.id', 'links.domain_id')
    .select('links.id')
    .where('links.id', '=', id)
    .where('links.account_id', '=', account)
    .where('domains.account_id', '=', account)
}

export type StoredLevel = Exclude<Subject['level'], 'tag'>

/** Selects stored days of a level. The key has the day before the id, so the query names each day. */
export function storedDays(level: StoredLevel, days: readonly number[]) {
  return query.selectFrom('click_days').where('scope', '=', clickLevels[level]).where('day', 'in', days)
}

/** Returns the days of a range. */
export function listDays({ from, to }: DayRange): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n)
}
