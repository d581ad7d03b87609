/**
 * Pages of lists that search nothing. A deep page is walked to from the nearer end of the list, over the index alone.
 */
import type { ClientBase } from 'pg'
import type { Listing, Page } from '../port.ts'
import { newName } from './compiled.ts'
import { type AnyListing, type Direction, opposite, orderTerms, toRows, totalOf } from './lists-sql.ts'
import { runText } from './run.ts'

/** So many records are skipped by reading them. */
const deepestRead = 1_000

/** Whether many entries of an index lie between the list's beginning and the page. */
export function isDeep({ offset }: AnyListing): boolean {
  return offset > deepestRead
}

/** The page and the number of the account's records, of one moment. */
export async function plainPage<Row>(client: ClientBase, listing: Listing<Row>): Promise<Page<Row>> {
  const { offset, limit } = listing
  if (!isDeep(listing)) {
    const page = await walk(client, listing, offset === 0 ? 'first' : 'near', offset === 0 ? [] : [offset])
    if (page !== null) return page
  }
  const total = await countRecords(client, listing)
  if (offset >= total) return { rows: [], total, totalIsExact: true }
  const page = offset > total / 2 ? await pageFromEnd(client, listing, total) : null
  return page ?? (await walk(client, listing, 'deep', [offset, limit])) ?? { rows: [], total, totalIsExact: true }
}

/** The number of an account's records. */
async function countRecords(client: ClientBase, { of, account }: AnyListing): Promise<number> {
  const [row = []] = await runText(client, `select ${totalOf(of)}`, [account])
  return Number(row[0])
}

/** Null when records were stored or deleted meanwhile, for where the page lies from the end depends on the total. */
async function pageFromEnd<Row>(client: ClientBase, listing: Listing<Row>, total: number): Promise<Page<Row> | null> {
  const { offset, limit } = listing
  const end = Math.min(total, offset + limit)
  const page = await walk(client, listing, 'fromEnd', [total - end, end - offset])
  return page?.total === total ? page : null
}

type Way = 'first' | 'near' | 'deep' | 'fromEnd'

/** The page, or null when it has no rows, and so none that tells the total. `range` is the offset, and the limit. */
async function walk<Row>(
  client: ClientBase,
  listing: Listing<Row>,
  way: Way,
  range: readonly number[],
): Promise<Page<Row> | null> {
  const { name, text } = statementOf(listing, way)
  const rows = await runText(client, text, [listing.account, ...range], name)
  const [first] = rows
  return first === undefined
    ? null
    : { rows: toRows(listing.of, rows), total: Number(first.at(-1)), totalIsExact: true }
}

interface Prepared {
  readonly name: string
  readonly text: string
}

const prepared = new Map<string, Prepared>()

function statementOf(listing: AnyListing, way: Way): Prepared {
  const { of, sortBy, direction, limit } = listing
  const key = `${of.table} ${sortBy} ${direction} ${limit} ${way}`
  const found = prepared.get(key) ?? { name: newName(), text: ways[way](listing) }
  prepared.set(key, found)
  return found
}

/**
 * Parameter 2 is the offset, 3 the limit of those that are prepared for any. The limit of shallow pages is written out:
 * the planner would take a parameter for a tenth of the table, and so plan anew for each page.
 */
const ways: Readonly<Record<Way, (listing: AnyListing) => string>> = {
  first: (listing) => `${inOrder(listing)} limit ${listing.limit}`,
  near: (listing) => `${inOrder(listing)} limit ${listing.limit} offset $2`,
  deep: (listing) => byIds(listing, listing.direction),
  fromEnd: (listing) => byIds(listing, opposite(listing.direction)),
}

function inOrder(listing: AnyListing): string {
  const { of, direction } = listing
  return `select ${of.columns}, ${totalOf(of)} from ${of.table} where account_id = $1
    order by ${orderTerms(listing, direction)}`
}

function byIds(listing: AnyListing, walked: Direction): string {
  const { of, direction } = listing
  const ids = `select id from ${of.table} where account_id = $1 order by ${orderTerms(listing, walked)} limit $3 offset $2`
  return `select ${of.columns}, ${totalOf(of)} from ${of.table} where id in (${ids})
    order by ${orderTerms(listing, direction)}`
}
