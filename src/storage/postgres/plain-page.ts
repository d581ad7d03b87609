/**
 * Pages of lists that search nothing. A deep page is walked to from the nearer end of the list, over the index alone.
 */
import type { ClientBase } from 'pg'
import type { Listing, Page } from '../port.ts'
import { newName } from './compiled.ts'
import { type AnyListing, opposite, orderTerms, toRows, totalOf } from './lists-sql.ts'
import { runText } from './run.ts'

/** So many records are skipped by reading them. */
const deepestRead = 1_000

/** The page and the number of the account's records, of one moment. */
export async function plainPage<Row>(client: ClientBase, listing: Listing<Row>): Promise<Page<Row>> {
  const { offset } = listing
  if (offset <= deepestRead) {
    const page = await walk(client, listing, offset === 0 ? 'first' : 'near')
    if (page !== null) return page
  }
  const total = await countRecords(client, listing)
  const page = offset < total ? await walk(client, listing, offset > total / 2 ? 'deepFromEnd' : 'deep') : null
  return page ?? { rows: [], total, totalIsExact: true }
}

/** The number of an account's records. */
async function countRecords(client: ClientBase, { of, account }: AnyListing): Promise<number> {
  const [row = []] = await runText(client, `select ${totalOf(of)}`, [account])
  return Number(row[0])
}

type Way = 'first' | 'near' | 'deep' | 'deepFromEnd'

/** The page, or null when it has no rows, and so none that tells the total. */
async function walk<Row>(client: ClientBase, listing: Listing<Row>, way: Way): Promise<Page<Row> | null> {
  const { of, account, offset } = listing
  const { name, text } = statementOf(listing, way)
  const rows = await runText(client, text, way === 'first' ? [account] : [account, offset], name)
  const [first] = rows
  return first === undefined ? null : { rows: toRows(of, rows), total: Number(first.at(-1)), totalIsExact: true }
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
 * Parameter 2 is the offset. Limits are written out, for the planner would take a parameter for a tenth of the table, and
 * plan anew for each page.
 */
const ways: Readonly<Record<Way, (listing: AnyListing) => string>> = {
  first: (listing) => `${inOrder(listing)} limit ${listing.limit}`,

  near: (listing) => `${inOrder(listing)} limit ${listing.limit} offset $2`,

  deep: (listing) => byIds(listing, `${idsInOrder(listing)} limit ${listing.limit} offset $2`),

  // The positions from the other end depend on the total, which must be that of the same moment.
  deepFromEnd: (listing) => {
    const { of, direction, limit } = listing
    const count = `greatest(0, least(${totalOf(of)}, $2 + ${limit}) - $2)`
    const skipped = `greatest(0, ${totalOf(of)} - ($2 + ${limit}))`
    return byIds(listing, `${idsInOrder(listing, opposite(direction))} limit ${count} offset ${skipped}`)
  },
}

function inOrder(listing: AnyListing): string {
  const { of, direction } = listing
  return `select ${of.columns}, ${totalOf(of)} from ${of.table} where account_id = $1
    order by ${orderTerms(listing, direction)}`
}

function idsInOrder(listing: AnyListing, direction = listing.direction): string {
  return `select id from ${listing.of.table} where account_id = $1 order by ${orderTerms(listing, direction)}`
}

function byIds(listing: AnyListing, ids: string): string {
  const { of, direction } = listing
  return `select ${of.columns}, ${totalOf(of)} from ${of.table} where id in (${ids})
    order by ${orderTerms(listing, direction)}`
}
