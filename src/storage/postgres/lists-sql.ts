/**
 * The parts that the SQL of lists is made of. Parameter 1 is always the account. No value ever becomes part of the
 * text: names of columns and expressions come from the `Listable`, everything else is a parameter or a number.
 */
import type { AnyListable, AnyListing } from '../listing.ts'

/** The condition for records that come after the id `parameter`. */
export function isAfter({ direction }: AnyListing, parameter: string): string {
  return `id ${direction === 'asc' ? '>' : '<'} ${parameter}`
}

/** An expression for the number of the account's records. */
export function totalOf(of: AnyListable): string {
  return `(select coalesce(sum(total), 0)::bigint from record_counts where account_id = $1 and resource = '${of.table}')`
}
