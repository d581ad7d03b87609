/**
 * The parts of the statements that search, over the parameters that `parametersOf` gives.
 */

import type { DatabaseSync } from 'node:sqlite'
import { searchedText } from '../ordering.ts'
import type { AnyListable, AnyListing } from '../raw-page.ts'
import { highestId, idOf, rowidOf } from './index-file.ts'
import type { SearchPlan } from './plan.ts'

export interface Search {
  readonly db: DatabaseSync
  readonly listing: AnyListing
  readonly term: string
  readonly plan: SearchPlan
  /** The number of the account's records. */
  readonly records: number
}

export function parametersOf({ listing, term, plan }: Search) {
  const { account, limit, offset } = listing
  return { account, term, match: plan.match, after: 0, limit, offset }
}

/** What the plan's query finds in the index, as `found`. */
export function inIndex({ table }: AnyListable): string {
  return `${table}_search as found where ${isFound(table)}`
}

/** The records that match, with their places in the index as `found`. */
export function inRecords(of: AnyListable, plan: SearchPlan): string {
  return `${of.table}_search as found cross join ${of.table} on id = ${idOf('found.rowid')}
    where ${isFound(of.table)} ${plan.isExact ? '' : `and instr(${searchedText(of)}, :term) > 0`}`
}

/** The account's records are a range of the index, here from above the id `after`. */
function isFound(table: string): string {
  const [first, last] = [rowidOf(':account', '(:after + 1)'), rowidOf(':account', highestId)]
  return `${table}_search match :match and found.rowid between ${first} and ${last}`
}
