/**
 * Pages of lists that search or filter. Matches are counted up to `countedMatches`. If there are no more, they are
 * sorted; otherwise a walk in order meets enough of them soon. These statements are not kept prepared, because the best
 * plan depends on the values.
 */
import type { ClientBase } from 'pg'
import { foldCase } from '../../lib/fold-case.ts'
import {
  type AnyListing,
  boundedTotal,
  searchedTexts,
  selected,
  toRows,
  type Walk,
  walked,
  walkedTerms,
  walkOf,
  walkTerms,
} from '../listing.ts'
import { countedMatches, type Listing, type Page } from '../port.ts'
import { isAfter } from './lists-sql.ts'
import type { RareParts } from './rare-parts.ts'
import { runText } from './run.ts'

/** The page and the number of matches. Throws as `runText` does. */
export async function matchingPage<Row>(
  client: ClientBase,
  listing: Listing<Row>,
  rareParts: RareParts,
): Promise<Page<Row>> {
  const term = listing.search === null ? null : foldCase(listing.search)
  const counting = countAndSort(listing, term, term === null ? null : await rareParts.of(client, listing, term))
  const counted = await runText(client, counting.text, counting.values)
  const count = Number(counted[0]?.at(-1))
  const walk = count > countedMatches ? walkInOrder(listing, term) : null
  const rows =
    walk === null ? counted.filter((row) => row.at(-2) !== null) : await runText(client, walk.text, walk.values)
  return { rows: toRows(listing.of, rows), ...boundedTotal(count) }
}

interface Query {
  readonly text: string
  readonly values: unknown[]
}

/**
 * The page, if there are at most `countedMatches` matches. Each row ends with its id and the number of matches; a page
 * without rows is one row whose id is null. What a side table has of the matches is looked up by their ids, some thousand
 * at most: a planner that expects more of them than there are would read the whole table.
 */
function countAndSort(listing: AnyListing, term: string | null, part: string | null): Query {
  const { of, direction } = listing
  const { table, column, key } = walkOf(listing)
  const { where, following, values } = conditionsOf(listing, term, part)
  const isOwn = table === of.table
  const value = isOwn ? 'value' : `(select ${column} from ${table} where ${key} = found.id)`
  const found = `select id, ${isOwn ? column : 'null'} as value from ${of.table} where ${where} limit ${countedMatches + 1}`
  const text = `with found as materialized (${found}),
      page as (select id as walked_id, ${value} as walked_by from found
        where (select count(*) from found) <= ${countedMatches}${following}
        order by ${walkedTerms(direction)} ${rangeOf(listing)})
    select ${selected(of)}, walked_id, (select count(*) from found)
    from (select) as always left join page on true left join ${of.table} on id = walked_id
    order by ${walkedTerms(direction)}`
  return { text, values }
}

function walkInOrder(listing: AnyListing, term: string | null): Query {
  const { of, direction } = listing
  const { where, following, values } = conditionsOf(listing, term, term)
  const walk = walkOf(listing)
  const [records, terms] =
    walk.table === of.table
      ? [of.table, walkTerms(walk, direction)]
      : [`(${entriesOf(walk)}) as walked join ${of.table} on id = walked_id`, walkedTerms(direction)]
  const text = `select ${selected(of)} from ${records} where ${where}${following} order by ${terms} ${rangeOf(listing)}`
  return { text, values }
}

/** What a side table has of the account, under names that are no columns of the records. */
function entriesOf(walk: Walk): string {
  return `select ${walked(walk)} from ${walk.table} where account_id = $1`
}

interface Conditions {
  /** What a match fulfils. */
  readonly where: string
  /** What limits the page, but not the total, to the records after an id; '' where nothing does. */
  readonly following: string
  readonly values: unknown[]
}

/**
 * `term` is folded. The index is asked for `part` of it; where that is less than the term, the text is compared too.
 */
function conditionsOf(listing: AnyListing, term: string | null, part: string | null): Conditions {
  const { account, filter, after } = listing
  const values: unknown[] = [account]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = Object.entries(filter).map(([column, value]) =>
    value === null ? `${column} is null` : `${column} = ${parameter(value)}`,
  )
  if (term !== null && part !== null) {
    const pattern = parameter(patternOf(part))
    const whole = part === term ? null : parameter(term)
    const found = searchedTexts(listing).map((text) =>
      whole === null ? `${text} like ${pattern}` : `${text} like ${pattern} and position(${whole} in ${text}) > 0`,
    )
    conditions.push(`(${found.join(' or ')})`)
  }
  const following = after === null ? '' : ` and ${isAfter(listing, parameter(after))}`
  return { where: ['account_id = $1', ...conditions].join(' and '), following, values }
}

/** For `like`: every character stands for itself. */
function patternOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

function rangeOf({ limit, offset }: AnyListing): string {
  return `limit ${limit} offset ${offset}`
}
