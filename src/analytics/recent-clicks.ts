/** Reads recent human clicks for lists. */
import { type Db, parts, type Storage } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'

/** Returns the human clicks of the last 30 days on the account's domains or spaces, by id. */
export async function countRecentClicks(
  db: Db,
  account: number,
  table: 'domains' | 'spaces',
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (ids.length === 0) return new Map()
  const sums = query.selectFrom(table === 'domains' ? 'domain_clicks' : 'space_clicks').select(['id', 'clicks_30d'])
  const rows = await db.execute(sums.where('id', 'in', ids).where('account_id', '=', account))
  return new Map(rows.map(({ id, clicks_30d }) => [id, Number(clicks_30d)]))
}

/** Links and days that one query reads. */
const [linkBatchSize, dayBatchSize] = [16, 32]

/** Reads the human clicks of each of the account's links on each day, from the first to the last. Unknown links have zeros. */
export async function readDailyClicks(
  db: Db,
  account: number,
  links: readonly number[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Map<number, number[]>> {
  const days = Array.from({ length: to - from + 1 }, (_, n) => from + n)
  const clicks = new Map(links.map((id) => [id, days.map(() => 0)]))
  const stored = query
    .selectFrom('click_days')
    .select(['id', 'day', 'clicks'])
    .where('scope', '=', clickLevels.link)
    .where(({ exists, selectFrom }) => {
      const own = selectFrom('links').innerJoin('domains', 'domains.id', 'links.domain_id').select('links.id')
      const isOwn = own.whereRef('links.id', '=', 'click_days.id').where('links.account_id', '=', account)
      return exists(isOwn.where('domains.account_id', '=', account))
    })
  for (const some of parts(links, linkBatchSize)) {
    for (const batch of parts(days, dayBatchSize)) {
      // The key has the day before the id, so the query names each day.
      const rows = await db.execute(stored.where('day', 'in', batch).where('id', 'in', some))
      for (const { id, day, clicks: people } of rows) (clicks.get(id) as number[])[day - from] = people
    }
  }
  return clicks
}

/** Tags with more links take too long to add up in a list. */
export const maxSummedLinks = 20_000

/** Returns the human clicks of the last 30 days on the links with each of the account's tags, by the id of the tag. */
export async function recentClicksOfTags(
  storage: Storage,
  account: number,
  tags: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (tags.length === 0) return new Map()
  const areFew = await hasFewClickedLinks(storage, account, tags)
  const rows = await storage.scan(account, areFew ? sumClickedLinks(account, tags) : clicksByTag(account, tags))
  return new Map(rows.map(([tag, clicks]) => [Number(tag), Number(clicks)]))
}

/** Selects the links with human clicks in the last 30 days. An index has all that is read. */
function clickedLinks(account: number) {
  const clicked = query.selectFrom('link_clicks').select('link_id')
  return clicked.where('account_id', '=', account).where('clicks_30d', '>', 0)
}

/** Returns whether fewer links were clicked than have these tags, while no domain is being removed and no tag merged. */
async function hasFewClickedLinks(storage: Storage, account: number, tags: readonly number[]): Promise<boolean> {
  for (const table of ['domains', 'tags'] as const) {
    const removed = query.selectFrom(table).select('id').where('account_id', '=', 0).limit(1)
    if ((await storage.execute(removed)).length > 0) return false
  }
  const tagged = query.selectFrom('tag_links').select(({ fn }) => fn.sum('total').as('links'))
  const [total] = await storage.execute(tagged.where('tag_id', 'in', tags))
  const links = Number(total?.links ?? 0)
  const some = clickedLinks(account).limit(links).as('clicked')
  const counted = query.selectFrom(some).select(({ fn }) => fn.countAll().as('links'))
  return Number((await storage.scan(account, counted))[0]?.[0]) < links
}

/** Selects as `clicksByTag` does, in a quarter of the time if few links were clicked: SQLite looks the others up in a filter. */
function sumClickedLinks(account: number, tags: readonly number[]) {
  const clicked = clickedLinks(account).select(({ fn }) => fn.max('clicks_30d').as('clicks'))
  return query
    .selectFrom('link_tags')
    .leftJoin(clicked.groupBy('link_id').as('clicked'), 'clicked.link_id', 'link_tags.link_id')
    .select(({ fn }) => ['tag_id as tag', fn.sum('clicks').as('clicks')])
    .where('link_tags.account_id', '=', account)
    .where('tag_id', 'in', tags)
    .groupBy('tag_id')
}

/** Selects the human clicks of the last 30 days by tag, for these tags or all tags of the account. Tags without links are missing. */
export function clicksByTag(account: number, tags?: readonly number[]) {
  return (
    query
      .selectFrom('tags')
      .innerJoin('link_tags', 'tag_id', 'tags.id')
      .innerJoin('link_clicks', 'link_clicks.link_id', 'link_tags.link_id')
      .innerJoin('domains', 'domains.id', 'link_clicks.domain_id')
      .select(({ fn }) => [fn.coalesce('merged_into', 'tags.id').as('tag'), fn.sum('clicks_30d').as('clicks')])
      .where('link_tags.account_id', '=', account)
      .where('domains.account_id', '=', account)
      .$if(tags !== undefined, (sums) =>
        sums.where(({ eb, or }) => or([eb('tags.id', 'in', tags ?? []), eb('merged_into', 'in', tags ?? [])])),
      )
      // A link that has a tag twice while another one is being merged into it counts once.
      .where(({ eb, or, not, exists, selectFrom }) => {
        const twice = selectFrom('link_tags as other')
          .innerJoin('tags as rival', 'rival.id', 'other.tag_id')
          .select('rival.id')
          .whereRef('other.link_id', '=', 'link_tags.link_id')
          .where(({ and, eb, ref }) =>
            or([
              eb('rival.id', '=', ref('tags.merged_into')),
              and([eb('rival.merged_into', '=', ref('tags.merged_into')), eb('rival.id', '<', ref('tags.id'))]),
            ]),
          )
        return or([eb('merged_into', 'is', null), not(exists(twice))])
      })
      .groupBy('tag')
  )
}
