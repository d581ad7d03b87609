/**
 * Pages of all of an account's records. A deep page is reached from the nearer end of the list, over the index alone.
 */
import type { ClientBase } from 'pg'
import {
  type AnyListing,
  type Direction,
  opposite,
  selected,
  toRows,
  walked,
  walkedTerms,
  walkOf,
  walkTerms,
} from '../listing.ts'
import type { Listing, Page } from '../port.ts'
import { statementName } from './compiled.ts'
import { isAfter, totalOf } from './lists-sql.ts'
import { runText } from './run.ts'

/** A larger offset is not read through, but walked over in the index. */
const maxReadOffset = 1_000

/** Whether many entries of an index lie between the list's beginning and the page. */
export function isDeep({ offset }: AnyListing): boolean {
  return offset > maxReadOffset
}

/** The page and the number of the account's records, both of one moment. */
export async function plainPage<Row>(client: ClientBase, listing: Listing<Row>): Promise<Page<Row>> {
  const { offset, limit, after } = listing
  if (!isDeep(listing)) {
    const page = await shallowPage(client, listing)
    if (page !== null) return page
  }
  const total = await countRecords(client, listing)
  if (after !== null || offset >= total) return { rows: [], total, totalIsExact: true }
  const page = offset > total / 2 ? await pageFromEnd(client, listing, total) : null
  return page ?? (await walk(client, listing, 'deep', [offset, limit])) ?? { rows: [], total, totalIsExact: true }
}

function shallowPage<Row>(client: ClientBase, listing: Listing<Row>): Promise<Page<Row> | null> {
  const { offset, after } = listing
  if (after !== null) return walk(client, listing, 'after', [after])
  return offset === 0 ? walk(client, listing, 'first', []) : walk(client, listing, 'near', [offset])
}

async function countRecords(client: ClientBase, { of, account }: AnyListing): Promise<number> {
  const [row = []] = await runText(client, `select ${totalOf(of)}`, [account])
  return Number(row[0])
}

/** Null when records were stored or deleted meanwhile: where the page lies from the end depends on the total. */
async function pageFromEnd<Row>(client: ClientBase, listing: Listing<Row>, total: number): Promise<Page<Row> | null> {
  const { offset, limit } = listing
  const end = Math.min(total, offset + limit)
  const page = await walk(client, listing, 'fromEnd', [total - end, end - offset])
  return page?.total === total ? page : null
}

type Way = 'first' | 'near' | 'after' | 'deep' | 'fromEnd'

/** The page; null when it has no rows, and so none that tells the total. */
async function walk<Row>(
  client: ClientBase,
  listing: Listing<Row>,
  way: Way,
  values: readonly number[],
): Promise<Page<Row> | null> {
  const { name, text } = statementOf(listing, way)
  const rows = await runText(client, text, [listing.account, ...values], name)
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
  const found = prepared.get(key)
  if (found !== undefined) return found
  const text = ways[way](listing)
  const statement = { name: statementName(text), text }
  prepared.set(key, statement)
  return statement
}

/**
 * Parameter 2 is the offset or the id, 3 the limit of deep pages. The limit of the others is written out: for a
 * parameter the planner expects a tenth of the table, and would plan each page again.
 */
const ways: Readonly<Record<Way, (listing: AnyListing) => string>> = {
  first: (listing) => nearStart(listing, `limit ${listing.limit}`),
  near: (listing) => nearStart(listing, `limit ${listing.limit} offset $2`),
  after: (listing) => inOrder(listing, `limit ${listing.limit}`, ` and ${isAfter(listing, '$2')}`),
  deep: (listing) => byIds(listing, 'limit $3 offset $2', listing.direction),
  fromEnd: (listing) => byIds(listing, 'limit $3 offset $2', opposite(listing.direction)),
}

/** A side table's index has the ids alone. */
function nearStart(listing: AnyListing, range: string): string {
  const isBeside = walkOf(listing).table !== listing.of.table
  return isBeside ? byIds(listing, range, listing.direction) : inOrder(listing, range)
}

function inOrder(listing: AnyListing, range: string, condition = ''): string {
  const { of, direction } = listing
  return `select ${selected(of)}, ${totalOf(of)} from ${of.table} where account_id = $1${condition}
    order by ${walkTerms(walkOf(listing), direction)} ${range}`
}

/** The records that a walk meets in the range, which is read over the index alone. */
function byIds(listing: AnyListing, range: string, walking: Direction): string {
  const { of, direction } = listing
  const walk = walkOf(listing)
  const ids = `select ${walked(walk)} from ${walk.table} where account_id = $1 order by ${walkTerms(walk, walking)} ${range}`
  return `select ${selected(of)}, ${totalOf(of)} from (${ids}) as walked join ${of.table} on id = walked_id
    order by ${walkedTerms(direction)}`
}
