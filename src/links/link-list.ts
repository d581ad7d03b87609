/** Lists of links, and their names. The dashboard also lists idle links, and links that end soon or ended recently. */
import { setImmediate as nextTick, setTimeout as wait } from 'node:timers/promises'
import { optional } from '../forms/form.ts'
import { type ListQuery, listQueryOf, pageRequestOf } from '../forms/list-query.ts'
import { oneOf } from '../forms/rules.ts'
import { parseShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import { type Db, type Page, type PageRequest, parts, type Storage, type ValueRange } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { type Status, statuses } from './link.ts'
import { withMergingTags } from './link-tags.ts'
import { type LinkRow, linkFilters } from './schema.ts'
import { findLink, findLinksByAlias, hasDomain, linkRecords, settleStatuses } from './store.ts'

/** After how many days without a click a link is idle, and how many days before its end it ends soon. */
export const [idleDays, endingDays] = [90, 7]

const dayMs = 86_400_000

interface LinkListQuery extends ListQuery {
  /**
   * A status, or `idle`: without a click in the last `idleDays`, and older than that, or `ending`: enabled, and ends within
   * `endingDays`.
   */
  readonly status?: Status | 'idle' | 'ending'
}

/** The query of the dashboard's list. */
export const linkListQuery = listQueryOf(resources.links, {
  ...linkFilters,
  status: optional(oneOf([...statuses, 'idle', 'ending'], 'The status or the activity.'), undefined),
})

/** Returns the page to read for a checked `linkListQuery` at `now`, in Unix milliseconds. */
export function linkPageRequest(query: LinkListQuery, now = Date.now()): PageRequest {
  const { status } = query
  if (status !== 'idle' && status !== 'ending') return pageRequestOf(query, resources.links)
  const idleSince = now - idleDays * dayMs
  const ranges: LinkRanges =
    status === 'idle'
      ? { last_clicked_at: { before: idleSince }, created_at: { before: rfc3339(idleSince) } }
      : { end: { from: rfc3339(now), before: rfc3339(now + endingDays * dayMs) } }
  const { status: _, ...others } = query
  return { ...pageRequestOf(others, resources.links), ranges }
}

type LinkRanges = Partial<Record<keyof typeof resources.links.ranges, ValueRange>>

/** Lists the account's links on domains that are not being removed. Only the last page with `after` may be short. */
export async function listLinks(storage: Storage, account: number, asked: PageRequest): Promise<Page<LinkRow>> {
  const page = await withMergingTags(storage, account, asked)
  if (page === null) return { rows: [], total: 0, totalIsExact: true }
  if ('status' in page.filter) await settleStatuses(storage, account)
  const [text = '', ...words] = page.search
  if (words.length === 0 && page.searchIn.includes('alias')) {
    const link = await findLinkByShortUrl(storage, account, text)
    if (link !== undefined) return pageOfOne(storage, link, account, page)
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

/** The links that are read together: few enough for a short event-loop tick. */
export const batchSize = 100

/**
 * Yields the account's links that match, by id in the direction of the request: only ids keep their order while others store
 * links. The first batch may be empty. If the event loop is busy, pauses after each batch up to `maxPause` times as long as
 * the batch took, so that redirects stay fast.
 */
export async function* linkBatches(
  storage: Storage,
  account: number,
  request: PageRequest,
  maxPause = 5,
): AsyncGenerator<readonly LinkRow[]> {
  const isAscending = request.direction === 'asc'
  const page = { ...request, sortBy: 'id', offset: 0, limit: batchSize } as const
  let after = isAscending ? 0 : Number.MAX_SAFE_INTEGER
  let busy = 0
  for (;;) {
    const start = performance.now()
    const { rows } = await listLinks(storage, account, { ...page, after })
    yield rows
    if (rows.length < batchSize) return
    after = (rows.at(-1) as LinkRow).id
    const took = Math.min(maxBatchMs, performance.now() - start)
    const before = performance.eventLoopUtilization()
    const pause = took * busy * maxPause
    // A timer takes at least a millisecond.
    await (pause < 1 ? nextTick() : wait(pause))
    busy = performance.eventLoopUtilization(before).utilization
  }
}

/** A slow client does not lengthen the pause. Milliseconds. */
const maxBatchMs = 100

/** Finds the account's link with this short URL, as people paste it. An exact match wins over one without noise. */
export async function findLinkByShortUrl(db: Db, account: number, text: string): Promise<LinkRow | undefined> {
  const pasted = parseShortUrl(text)
  if (pasted === null) return undefined
  const { domain, aliasesFolded } = pasted
  const onDomain = query.selectFrom('domains').select('id').where('account_id', '=', account).where('name', '=', domain)
  const found = query
    .selectFrom('links')
    .select(['id', 'alias_folded'])
    .where('account_id', '=', account)
    .where('domain_id', '=', onDomain)
    .where('alias_folded', 'in', aliasesFolded)
  const links = await db.execute(found)
  const link = links.find(({ alias_folded }) => alias_folded === aliasesFolded[0]) ?? links[0]
  return link && (await findLink(db, account, link.id))?.record
}

/** Returns the page with only this link, or an empty page if the link does not match the filters or is on another page. */
async function pageOfOne(db: Db, link: LinkRow, account: number, page: PageRequest): Promise<Page<LinkRow>> {
  const { offset, after, direction } = page
  const isMatch = await linkRecords.isListed(db, account, link.id, page)
  const follows = after === null || (direction === 'asc' ? link.id > after : link.id < after)
  return { rows: isMatch && follows && offset === 0 ? [link] : [], total: isMatch ? 1 : 0, totalIsExact: true }
}

/** Enabled links and when they end or ended, the links next to now first. */
interface EndingLinks {
  readonly links: readonly EndingLink[]
  /** Up to `maxEndingLinks`, which means this number or more. */
  readonly total: number
}

interface EndingLink {
  readonly link: LinkRow
  /** In Unix milliseconds. */
  readonly end: number
}

export const maxEndingLinks = 1_000

/**
 * Finds the account's enabled links that end within `endingDays` or ended in the last `endingDays`, `limit` of each. A reached
 * click limit ends a link at its last click, and is found among the newest `maxUsedUpLinks` expired links. `dismissedAt` is
 * the time of the last dismissal, which leaves out the links of its notice; 0 for none. Times are in Unix milliseconds.
 */
export async function findEndingLinks(
  db: Db,
  account: number,
  { now, dismissedAt, limit }: Readonly<Record<'now' | 'dismissedAt' | 'limit', number>>,
): Promise<{ readonly ending: EndingLinks; readonly ended: EndingLinks }> {
  const days = endingDays * dayMs
  await settleStatuses(db, account)
  const read = async (range: ReturnType<typeof endsBetween>, order: 'asc' | 'desc') => {
    const rows = await db.execute(range.orderBy('end', order).orderBy('id', order).limit(maxEndingLinks))
    return rows.map(({ id, end }) => ({ id, end: Date.parse(end as string) }))
  }
  const nearest = async (found: readonly { id: number; end: number }[]): Promise<EndingLinks> => {
    const links = await Promise.all(
      found.slice(0, limit).map(async ({ id, end }) => {
        const link = (await findLink(db, account, id))?.record
        return link === undefined ? [] : { link, end }
      }),
    )
    return { links: links.flat(), total: Math.min(found.length, maxEndingLinks) }
  }
  const [ending, over, usedUp] = await Promise.all([
    read(endsBetween(account, now, now + days, dismissedAt).where('status', '!=', 'expired'), 'asc'),
    read(endsBetween(account, now - days, now, dismissedAt), 'desc'),
    findUsedUp(db, account, Math.max(now - days, dismissedAt), rfc3339(now)),
  ])
  const ended = [...over, ...usedUp].sort((one, other) => other.end - one.end)
  return { ending: await nearest(ending), ended: await nearest(ended) }
}

/** Selects the account's enabled links that end from `from` on and before `before`, without dismissed links. */
function endsBetween(account: number, from: number, before: number, dismissedAt: number) {
  return (
    query
      .selectFrom('links')
      .select(['id', 'active_period_end_at as end'])
      .where('account_id', '=', account)
      // A parameter would keep SQLite from using the index of enabled links.
      .where(({ eb, lit }) => eb('disabled', '=', lit(0)))
      .where('active_period_end_at', '>=', rfc3339(from))
      .where('active_period_end_at', '<', rfc3339(before))
      .where(({ or, eb }) =>
        or([
          eb('active_period_end_at', '>=', rfc3339(dismissedAt + endingDays * dayMs)),
          // A link of the same millisecond may not have been in the notice.
          eb('updated_at', '>=', rfc3339(dismissedAt)),
        ]),
      )
      .where(hasDomain)
  )
}

/** How many expired links are searched for used-up click limits, so that the search takes at most a millisecond. */
const maxUsedUpLinks = 500

/** Finds links whose click limit was reached after `since` and before their end. `end` is the time of their last click. */
async function findUsedUp(db: Db, account: number, since: number, now: string): Promise<{ id: number; end: number }[]> {
  const expired = query
    .selectFrom('links')
    .select(['id', 'clicks_limit', 'active_period_end_at'])
    .where('account_id', '=', account)
    .where('status', '=', 'expired')
    .where(hasDomain)
    .orderBy('id', 'desc')
    .limit(maxUsedUpLinks)
  const usedUp = query
    .selectFrom(expired.as('expired'))
    .innerJoin('link_clicks', 'link_clicks.link_id', 'expired.id')
    .select(['expired.id', 'link_clicks.last_clicked_ms as end'])
    .whereRef('link_clicks.clicks', '>=', 'expired.clicks_limit')
    .where('link_clicks.last_clicked_ms', '>', since)
    .where(({ or, eb }) => or([eb('active_period_end_at', 'is', null), eb('active_period_end_at', '>', now)]))
  const rows = await db.execute(usedUp)
  return rows.map(({ id, end }) => ({ id, end: Number(end) }))
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString()
}

/** The name of a link in a list. */
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
