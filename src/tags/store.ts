import { sql } from 'kysely'
import { clicksByTag } from '../analytics/recent.ts'
import { type Failure, preconditionFailed, tagTaken, UniqueViolation, validationFailed } from '../errors.ts'
import { foldCase } from '../lib/text.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { firstRevision, newTimes, type Precondition, Records, type Versioned } from '../storage/records.ts'
import type { Removal } from '../storage/removal.ts'
import { query, sqlTemplate } from '../storage/schema.ts'
import { type Edit, recordEdits, undoableSince } from '../storage/undo.ts'
import { Refusal } from '../violations.ts'
import { type Tag, tagSchema } from './schema.ts'

/** Lists, finds, changes and deletes tags. */
export const tagRecords = new Records<Tag>('tags', Object.keys(tagSchema.properties) as (keyof Tag)[], {
  links: '(select cast(coalesce(sum(total), 0) as bigint) from tag_links where tag_id = tags.id)',
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
export async function withMergingLinks<T extends Tag>(
  storage: Storage,
  account: number,
  tags: readonly T[],
): Promise<T[]> {
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

/** Lists a page of the account's tags. */
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
export async function insertTag(
  db: Db,
  account: number,
  { name, color }: Pick<Tag, 'name' | 'color'>,
  times = newTimes(),
): Promise<Versioned<Tag>> {
  const stored = { name, color, ...times }
  const name_folded = foldCase(name)
  const isFree = sqlTemplate<boolean>`not exists (
    select 1 from tags where account_id = ${account} and name_folded = ${name_folded})`
  const id = await tagRecords.insertIf(db, { account_id: account, name_folded, ...stored }, isFree)
  if (id === undefined) throw tagTaken(name)
  return tagRecords.toVersioned({ id, links: 0, ...stored, revision: firstRevision })
}

/** Changes the account's tag, as `Records.change` does. An undefined value stays unchanged. Throws `name_taken`. */
export async function changeTag(
  db: Db,
  account: number,
  id: number,
  { name, color }: { readonly name?: string | undefined; readonly color?: number | undefined },
  precondition: Precondition | null,
): Promise<Versioned<Tag> | undefined> {
  const name_folded = name === undefined ? undefined : foldCase(name)
  try {
    return await tagRecords.change(db, account, id, { name, name_folded, color }, precondition)
  } catch (error) {
    if (error instanceof UniqueViolation) throw tagTaken(name ?? '')
    throw error
  }
}

/** The `link_id` of the edits of tags. */
const noLink = 0

/**
 * Changes the account's tag as `changeTag` does, but so that `undoTagEdit` can undo this edit. The result's `edit` is its id,
 * or null if nothing was changed.
 */
export function changeTagWithUndo(
  db: Db,
  account: number,
  id: number,
  change: Parameters<typeof changeTag>[3],
  precondition: Precondition | null,
  edit: Edit,
): Promise<(Versioned<Tag> & { readonly edit: number | null }) | undefined> {
  return db.write(async (tx) => {
    const before = await tagRecords.findForUpdate(tx, account, id)
    const after = await changeTag(tx, account, id, change, precondition)
    if (before === undefined || after === undefined) return undefined
    if (before.version === after.version) return { ...after, edit: null }
    const { name, color } = before.record
    const changed = { link_id: noLink, version: after.version, before: JSON.stringify({ id, name, color }) }
    await recordEdits(tx, account, edit, [changed])
    return { ...after, edit: edit.id }
  })
}

/**
 * Restores the name and the color that the account's tag had before the edit. `now` is in Unix milliseconds. Returns
 * undefined if the edit can't be undone any more or the tag is gone. Throws `precondition_failed` if anyone has changed the
 * tag since, and `name_taken`.
 */
export function undoTagEdit(db: Db, account: number, edit: number, now: number): Promise<Versioned<Tag> | undefined> {
  return db.write(async (tx) => {
    const own = query.deleteFrom('link_edits').where('edit_id', '=', edit).where('account_id', '=', account)
    const undone = own.where('link_id', '=', noLink).where('edited_at', '>', undoableSince(now))
    const [recorded] = await tx.execute(undone.returning(['before', 'version']))
    if (recorded === undefined) return undefined
    const { id, name, color } = JSON.parse(recorded.before)
    const check = (version: string) => {
      if (version !== recorded.version) throw preconditionFailed(version)
    }
    return changeTag(tx, account, id, { name, color }, { check })
  })
}

/**
 * Takes a tag from the account, so that no link has it any more. With `into`, another tag of the account, its links have that
 * tag instead. Returns whether the account had the tag. Call `finishRemoval` afterwards. Throws what `precondition` throws.
 */
export function beginTagRemoval(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
  into: number | null,
): Promise<boolean> {
  return db.write(async (tx) => {
    if (into !== null) {
      const gone = await lockTags(tx, account, [id, into])
      if (gone === id) return false
      if (gone === into) throw unknownTarget(into)
    }
    const found = await tagRecords.findForUpdate(tx, account, id)
    if (found === undefined) return false
    precondition?.check(found.version)
    if (into !== null && (await tagRecords.findForUpdate(tx, account, into)) === undefined) {
      throw unknownTarget(into)
    }
    // No folded name has a line feed, so this frees the name.
    const name_folded = sql<string>`name_folded || ${'\n'} || cast(id as text)`
    const own = query.updateTable('tags').where('id', '=', id).where('account_id', '=', account)
    const updated_at = new Date().toISOString()
    await tx.execute(own.set({ account_id: 0, merged_into: into, name_folded, updated_at }))
    // Links of tags that are still being merged into this one follow it.
    await tx.execute(query.updateTable('tags').set({ merged_into: into }).where('merged_into', '=', id))
    return true
  })
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

/** Links in one transaction, which takes a few milliseconds. */
const batchSize = 100

const removed = query.selectFrom('tags').select('id').where('account_id', '=', 0)

/** Removes a tag after its links have lost it, or have got the tag that it was merged into. */
export const tagRemoval: Removal = {
  detachLinks: (db, id) =>
    db.write(async (tx) => {
      const batch = query.selectFrom('link_tags').select(['account_id', 'link_id']).where('tag_id', '=', id)
      const found = await tx.execute(batch.orderBy('link_id').limit(batchSize))
      const ids = found.map(({ link_id }) => link_id)
      if (ids.length === 0) return 0
      const [before] = await tx.execute(removed.select('merged_into').where('id', '=', id))
      // Locks in the order of other transactions: links, tags of the account, removed tags.
      await tx.execute(query.selectFrom('links').select('id').where('id', 'in', ids).orderBy('id').forKeyShare())
      const merged_into = before?.merged_into ?? null
      if (merged_into !== null) {
        await tx.execute(query.selectFrom('tags').select('id').where('id', '=', merged_into).forKeyShare())
      }
      const [tag] = await tx.execute(removed.select('merged_into').where('id', '=', id).forUpdate())
      if (tag === undefined) return 0
      // The other tag has been removed meanwhile. The next batch follows it.
      if (tag.merged_into !== merged_into) return ids.length
      const links = await tx.execute(batch.where('link_id', 'in', ids))
      if (merged_into !== null && links.length > 0) {
        const moved = links.map((link) => ({ ...link, tag_id: merged_into }))
        await tx.execute(
          query
            .insertInto('link_tags')
            .values(moved)
            .onConflict((conflict) => conflict.doNothing()),
        )
      }
      await tx.execute(query.deleteFrom('link_tags').where('tag_id', '=', id).where('link_id', 'in', ids))
      return ids.length
    }),
  selectLink: (id) => query.selectFrom('link_tags').select('link_id as id').where('tag_id', '=', id).limit(1),
  deleteRemoved: (id) =>
    query
      .deleteFrom('tags')
      .where('id', '=', id)
      .where('account_id', '=', 0)
      // Changes that are undone within the minute find the other tag.
      .where(({ or, eb }) => or([eb('merged_into', 'is', null), eb('updated_at', '<=', undoableSince(Date.now()))]))
      .returning('id'),
  selectRemoved: () => removed,
}
