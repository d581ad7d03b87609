/**
 * Pages of searches. The matches are counted as far as they are to be; few of them are sorted, of many the page is found
 * by a walk in order. These statements are not kept prepared: how to go about them depends on the text.
 */
import type { ClientBase } from 'pg'
import { countedMatches, type Listing, type Page } from '../port.ts'
import { orderTerms, toRows } from './lists-sql.ts'
import { runText } from './run.ts'

/** The page; `term` is folded. */
export async function searchedPage<Row>(client: ClientBase, listing: Listing<Row>, term: string): Promise<Page<Row>> {
  const { of, account, limit, offset } = listing
  const values = [account, `%${term.replaceAll(/[\\%_]/g, '\\$&')}%`]
  const matching = `from ${of.table} where account_id = $1 and ${of.searchText} like $2`
  const order = orderTerms(listing, listing.direction)

  const key = listing.sortBy === 'id' ? 'id' : `id, ${of.nameColumn}`
  const few = `with found as materialized (select ${key} ${matching} limit ${countedMatches + 1})
    select count, page.* from (select count(*) as count from found) as counted left join lateral (
      select ${of.columns} from ${of.table} where id in (
        select id from found where count <= ${countedMatches} order by ${order} limit ${limit} offset ${offset})
    ) as page on true order by ${order}`
  const rows = await runText(client, few, values)
  const total = Number(rows[0]?.[0])
  if (total <= countedMatches) {
    return { rows: toRows(of, rows.filter(hasRecord).map(([, ...row]) => row)), total, totalIsExact: true }
  }
  const many = `select ${of.columns} ${matching} order by ${order} limit ${limit} offset ${offset}`
  return { rows: toRows(of, await runText(client, many, values)), total: countedMatches, totalIsExact: false }
}

function hasRecord([, id]: readonly unknown[]): boolean {
  return id !== null
}
