/**
 * Pages of searches. The matches are counted as far as a search counts; few of them are sorted, of many the page is found
 * by a walk in order. These statements are not kept prepared: how best to go about them depends on the text.
 */

import type { ClientBase } from 'pg'
import { countedMatches, type Listing, type Page } from '../port.ts'
import { type AnyListing, orderTerms, searchedText, toRows } from './lists-sql.ts'
import type { RareParts } from './rare-parts.ts'
import { runText } from './run.ts'

/** The page; `term` is folded. */
export async function searchedPage<Row>(
  client: ClientBase,
  listing: Listing<Row>,
  term: string,
  rareParts: RareParts,
): Promise<Page<Row>> {
  const { of, account } = listing
  const part = await rareParts.of(client, listing, term)
  const counted = await runText(client, countAndSort(listing), [account, patternOf(part), term])
  const total = Number(counted[0]?.at(-1))
  if (total > countedMatches) {
    const rows = await runText(client, walkInOrder(listing), [account, patternOf(term)])
    return { rows: toRows(of, rows), total: countedMatches, totalIsExact: false }
  }
  const rows = counted.filter(([id]) => id !== null)
  return { rows: toRows(of, rows), total, totalIsExact: true }
}

/** For `like`: every character stands for itself. */
function patternOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/**
 * The page, where there are no more matches than are counted; each row ends with their number. Where there is nothing
 * else to tell, one row tells that.
 */
function countAndSort(listing: AnyListing): string {
  const { of, direction } = listing
  return `with found as materialized (select id, ${of.sorts.name} ${matching(of)}
        and position($3 in ${searchedText(of)}) > 0 limit ${countedMatches + 1}),
      page as (select id as match from found where (select count(*) from found) <= ${countedMatches} ${rangeOf(listing)})
    select ${of.columns}, (select count(*) from found)
    from (select) as always left join page on true left join ${of.table} on id = match
    order by ${orderTerms(listing, direction)}`
}

function walkInOrder(listing: AnyListing): string {
  const { of } = listing
  return `select ${of.columns} ${matching(of)} ${rangeOf(listing)}`
}

/** Parameter 1 is the account, 2 the pattern, which the index is asked for; 3, where it is used, the whole term. */
function matching(of: AnyListing['of']): string {
  return `from ${of.table} where account_id = $1 and ${searchedText(of)} like $2`
}

function rangeOf(listing: AnyListing): string {
  const { direction, limit, offset } = listing
  return `order by ${orderTerms(listing, direction)} limit ${limit} offset ${offset}`
}
