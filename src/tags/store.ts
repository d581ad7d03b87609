import { sql } from 'kysely'
import type { Actor } from '../access/actor.ts'
import { clicksByTag } from '../analytics/recent-clicks.ts'
import { type Failure, tagTaken, UniqueViolation, validationFailed } from '../errors.ts'
import { recordEvents } from '../events/log.ts'
import { addRemoval, LoggedRecords } from '../events/records.ts'
import { foldCase } from '../lib/text.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { newTimes, type Precondition, Records, type Versioned } from '../storage/records.ts'
import { query } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
import { type Tag, tagSchema } from './schema.ts'

/** Lists and finds tags. */
export const tagRecords = new Records<Tag>('tags', Object.keys(tagSchema.properties) as (keyof Tag)[], {
  links: '(select cast(coalesce(sum(total), 0) as bigint) from tag_links where tag_id = tags.id)',
})

/** No folded name has a line feed, so this frees the name. */
const freedName = sql<string>`name_folded || ${'\n'} || cast(id as text)`

/** Changes, removes and restores tags together with their events. */
export const loggedTags = new LoggedRecords<Tag>(tagRecords, {
  record: 'tag',
  nameOf: ({ name }) => name,
  valuesOf: ({ name, color }) => ({ name, color }),
  secrets: [],
  freed: { name_folded: freedName },
  keep: async () => ({}),
  onRemoval: (tx, id) => redirectMerges(tx, id, null),
})

/** Lists tags as `tagRecords.list` does, but sorted by their links or recent clicks. Adds them up outside of the event loop. */
export async function listTagsByFigure(
  storage: Storage,
  account: number,
  figure: 'links' | 'clicks_30d',
  page: PageRequest,
): Promise<Page<Tag>> {
  const { total, totalIsExact } = await tagRecords.list(storage, account, { ...page, sortBy: 'id', offset: 0 })
  const own = query.selectFrom('tags').select('id').where('account_id', '=', account)
  const links = query.selectFrom('tag_links').select(({ fn }) => ['tag_id as tag', fn.sum('total').as('clicks')])
  const figures = figure === 'links' ? links.where('tag_id', 'in', own).groupBy('tag_id') : clicksByTag(account)
  const found = query
    .selectFrom('tags')
    .leftJoin(sql<{ tag: number; clicks: number }>`(${figures})`.as('figures'), 'figures.tag', 'tags.id')
    .select('tags.id')
    .where('tags.account_id', '=', account)
    .where(({ and }) =>
      and(page.search.map((text) => sql<boolean>`replace(name_folded, ${foldCase(text)}, '') <> name_folded`)),
    )
    .orderBy(sql`coalesce(figures.clicks, 0)`, page.direction)
    .orderBy('tags.id', page.direction)
  const ids = await storage.scan(account, found.limit(page.limit).offset(page.offset))
  const tags = await Promise.all(ids.map(([id]) => findTag(storage, account, Number(id))))
  return { rows: tags.flatMap((tag) => tag?.record ?? []), total, totalIsExact }
}

/**
 * Returns tags with the number of their links while other tags are being merged into them. A link may have several of these
 * tags, so links are counted, outside of the event loop.
 */
async function withMergingLinks<T extends Tag>(storage: Storage, account: number, tags: readonly T[]): Promise<T[]> {
  const isDetaching = sql<boolean>`exists (select 1 from link_tags where tag_id = tags.id)`
  const ids = tags.map(({ id }) => id)
  const merging = query.selectFrom('tags').select(['id', 'merged_into']).where('merged_into', 'in', ids)
  const targets = ids.length === 0 ? [] : await storage.execute(merging.where(isDetaching))
  const counts = new Map<number, number>()
  for (const [target, sources] of Map.groupBy(targets, ({ merged_into }) => merged_into ?? 0)) {
    const all = [target, ...sources.map(({ id }) => id)]
    const links = query.selectFrom('link_tags').where('tag_id', 'in', all).where('account_id', '=', account)
    const [[count] = []] = await storage.scan(account, links.select(sql`count(distinct link_id)`.as('links')))
    counts.set(target, Number(count))
  }
  return tags.map((tag) => ({ ...tag, links: counts.get(tag.id) ?? tag.links }))
}

/** Lists one page with the account's tags. */
export async function listTags(storage: Storage, account: number, page: PageRequest): Promise<Page<Tag>> {
  const tags = await tagRecords.list(storage, account, page)
  return { ...tags, rows: await withMergingLinks(storage, account, tags.rows) }
}

/** Finds the account's tag with this id. */
export async function findTag(storage: Storage, account: number, id: number): Promise<Versioned<Tag> | undefined> {
  const found = await tagRecords.find(storage, account, id)
  return found && withExactLinks(storage, account, found)
}

/** Returns the tag as `withMergingLinks` does. */
export async function withExactLinks(storage: Storage, account: number, tag: Versioned<Tag>): Promise<Versioned<Tag>> {
  const [record = tag.record] = await withMergingLinks(storage, account, [tag.record])
  return { ...tag, record }
}

/** Finds the account's tag with this name, case-insensitively. */
export async function findTagByName(db: Db, account: number, name: string): Promise<Tag | undefined> {
  const named = query.selectFrom('tags').select('id').where('account_id', '=', account)
  const [found] = await db.execute(named.where('name_folded', '=', foldCase(name)))
  return found && (await tagRecords.find(db, account, found.id))?.record
}

/** Stores a tag; an imported one keeps its times. Throws `name_taken` if the account has the name in any case. */
export function insertTag(
  db: Db,
  actor: Actor,
  { name, color }: Pick<Tag, 'name' | 'color'>,
  times = newTimes(),
): Promise<Versioned<Tag>> {
  const values = { account_id: actor.account, name_folded: foldCase(name), name, color, ...times }
  return db.write(async (tx) => {
    const isTaken = (await findTagByName(tx, actor.account, name)) !== undefined
    const tag = isTaken ? undefined : await tagRecords.insert(tx, values)
    if (tag === undefined) throw tagTaken(name)
    await loggedTags.created(tx, actor, tag.record)
    return tag
  })
}

/** Changes the actor's tag, as `Records.change` does. An undefined value stays unchanged. Throws `name_taken`. */
export function changeTag(
  db: Db,
  actor: Actor,
  id: number,
  { name, color }: { readonly name?: string | undefined; readonly color?: number | undefined },
  precondition: Precondition | null,
): Promise<Versioned<Tag> | undefined> {
  const name_folded = name === undefined ? undefined : foldCase(name)
  return loggedTags.change(db, actor, id, { name, name_folded, color }, precondition).catch(throwTaken(name))
}

/** Returns a function that throws an error, or `name_taken` if another tag has the name. */
export function throwTaken(name = ''): (error: unknown) => never {
  return (error) => {
    throw error instanceof UniqueViolation ? tagTaken(name) : error
  }
}

/**
 * Takes a tag from the account, so that its links have `into` instead, another tag of the account. Returns whether the account
 * had the tag. Adds the job of the removal. Throws what `precondition` throws, and `validation_failed` without the target.
 */
export function beginTagMerge(
  db: Db,
  actor: Actor,
  id: number,
  precondition: Precondition | null,
  into: number,
): Promise<boolean> {
  const { account } = actor
  return db.write(async (tx) => {
    const gone = await lockTags(tx, account, [id, into])
    if (gone === id) return false
    if (gone === into) throw unknownTarget(into)
    const found = await tagRecords.findForUpdate(tx, account, id)
    if (found === undefined) return false
    precondition?.check(found.version)
    const target = await tagRecords.findForUpdate(tx, account, into)
    if (target === undefined) throw unknownTarget(into)
    const own = query.updateTable('tags').where('id', '=', id).where('account_id', '=', account)
    await tx.execute(own.set({ account_id: 0, merged_into: into, name_folded: freedName }))
    await redirectMerges(tx, id, into)
    const { name } = found.record
    const changes = { name: [name, target.record.name] } as const
    await recordEvents(tx, actor, [{ record: 'tag', action: 'merged', id, name, changes }])
    await addRemoval(tx, actor.account, { record: 'tag', record_id: id })
    return true
  })
}

/** Lets links of tags that are still being merged into a removed tag follow it. */
async function redirectMerges(tx: Db, id: number, into: number | null): Promise<void> {
  await tx.execute(query.updateTable('tags').set({ merged_into: into }).where('merged_into', '=', id))
}

/**
 * Locks the account's tags in the order of other transactions, so that two merges do not wait for each other. Returns the first
 * tag that has been removed meanwhile, without waiting for the next one: PostgreSQL has locked the removed tag, too, and
 * `detachLinks` may wait for it.
 */
async function lockTags(tx: Db, account: number, ids: readonly number[]): Promise<number | undefined> {
  const tags = query.selectFrom('tags').select('id').where('account_id', '=', account).where('id', 'in', ids)
  for (const { id } of await tx.execute(tags.orderBy('name_folded'))) {
    if ((await tagRecords.findForUpdate(tx, account, id)) === undefined) return id
  }
  return undefined
}

function unknownTarget(into: number): Failure {
  return validationFailed([new Refusal('unknown_tag', { id: into }).at('into')])
}
