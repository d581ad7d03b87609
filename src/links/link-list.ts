/** Lists of links, and their names. */
import { parseShortUrl } from '../names/short-url.ts'
import { type Db, type Page, type PageRequest, parts, type Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { withMergingTags } from './link-tags.ts'
import type { LinkRow } from './schema.ts'
import {
  findAddressesByAlias,
  findLink,
  findLinkDomain,
  findLinksByAlias,
  linkRecords,
  settleStatuses,
} from './store.ts'

/** Lists the account's links on domains that are not being removed. Only the last page with `after` may be short. */
export async function listLinks(storage: Storage, account: number, asked: PageRequest): Promise<Page<LinkRow>> {
  const page = await withMergingTags(storage, account, asked)
  if (page === null) return { rows: [], total: 0, totalIsExact: true }
  if ('status' in page.filter) await settleStatuses(storage, account)
  if (page.alias !== undefined) {
    const { domain_id: domain = null, ...filter } = page.filter
    const links = await findLinksNamed(storage, account, page.alias, domain === null ? null : Number(domain))
    return pageOfSome(storage, links, account, { ...page, filter })
  }
  const [text = '', ...words] = page.search
  if (words.length === 0 && page.searchIn.includes('alias')) {
    const link = await findLinkByShortUrl(storage, account, text)
    if (link !== undefined) return pageOfSome(storage, [link], account, page)
  }
  const hasDomain = ({ domain_name }: LinkRow) => domain_name !== null
  let { rows, ...counted } = await linkRecords.list(storage, account, page)
  const rowsBefore = rows.length
  const served = rows.filter(hasDomain)
  while (page.after !== null && rows.length === page.limit && served.length < page.limit) {
    const after = rows.at(-1)?.id ?? page.after
    rows = (await linkRecords.list(storage, account, { ...page, after })).rows
    served.push(...rows.filter(hasDomain))
  }
  return { rows: served.slice(0, page.limit), rowsBefore, ...counted }
}

/** Links with the same alias on several domains that are listed first. */
const maxExact = 10

/**
 * Lists a page as `listLinks` does, but the first page starts with the links that have exactly the searched alias. It may
 * therefore have more rows, and such a link is also at its own place on a later page.
 */
export async function listWithExactFirst(
  storage: Storage,
  account: number,
  asked: PageRequest,
): Promise<Page<LinkRow>> {
  const page = await listLinks(storage, account, asked)
  const [alias, ...words] = asked.search
  const isAlias = alias !== undefined && words.length === 0 && asked.searchIn.includes('alias')
  if (!isAlias || asked.offset > 0 || page.total < 2) return page
  const filters = await withMergingTags(storage, account, asked)
  if (filters === null) return page
  const named = await findLinksByAlias(storage, account, alias, null, maxExact)
  const listed = await Promise.all(named.map(({ id }) => linkRecords.isListed(storage, account, id, filters)))
  const exact = named.filter((_, at) => listed[at])
  return { ...page, rows: [...exact, ...page.rows.filter(({ id }) => !exact.some((each) => each.id === id))] }
}

/** Finds the account's address with this short URL, as people paste it. An exact match wins over one without noise. */
export async function findPastedAddress(db: Db, account: number, text: string) {
  const pasted = parseShortUrl(text)
  const domain = pasted === null ? undefined : await findLinkDomain(db, account, pasted.domain)
  if (pasted === null || domain === undefined) return undefined
  for (const alias of pasted.aliases) {
    const [address] = await findAddressesByAlias(db, account, alias, domain.id)
    if (address !== undefined) return address
  }
  return undefined
}

/** Finds the account's link with an address that has this short URL, as people paste it. */
export async function findLinkByShortUrl(db: Db, account: number, text: string): Promise<LinkRow | undefined> {
  const address = await findPastedAddress(db, account, text)
  return address && (await findLink(db, account, address.link))?.record
}

/** Finds the links with this short URL, or with this alias on one or any domain: the first 100. */
async function findLinksNamed(db: Db, account: number, text: string, domain: number | null): Promise<LinkRow[]> {
  const pasted = domain === null ? await findLinkByShortUrl(db, account, text) : undefined
  return pasted === undefined ? findLinksByAlias(db, account, text, domain, 100) : [pasted]
}

/** Returns the page of the links among these that match the filters, by id. */
async function pageOfSome(
  db: Db,
  links: readonly LinkRow[],
  account: number,
  page: PageRequest,
): Promise<Page<LinkRow>> {
  const { offset, limit, after, direction } = page
  const listed = await Promise.all(links.map(({ id }) => linkRecords.isListed(db, account, id, page)))
  const sign = direction === 'asc' ? 1 : -1
  const matching = links.filter((_, at) => listed[at]).sort((one, other) => sign * (one.id - other.id))
  const following = matching.filter(({ id }) => after === null || sign * (id - after) > 0)
  return { rows: following.slice(offset, offset + limit), total: matching.length, totalIsExact: true }
}

/** A link's name in a list. */
export interface LinkName {
  readonly id: number
  readonly alias: string
  readonly domain: string
  readonly title: string | null
}

/** Returns the names of the account's links among these ids, by id. Links that were deleted, or whose domain was, are missing. */
export async function findLinkNames(
  db: Db,
  account: number,
  ids: readonly number[],
): Promise<ReadonlyMap<number, LinkName>> {
  const names = new Map<number, LinkName>()
  for (const some of parts(ids, 128)) {
    const found = query
      .selectFrom('links')
      .innerJoin('domains', (join) =>
        join.onRef('domains.id', '=', 'links.domain_id').onRef('domains.account_id', '=', 'links.account_id'),
      )
      .select(['links.id', 'alias', 'title', 'domains.name as domain'])
      .where('links.account_id', '=', account)
      .where('links.id', 'in', some)
    for (const link of await db.execute(found)) names.set(link.id, link)
  }
  return names
}
