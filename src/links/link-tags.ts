/** Link tags. A link has the tags in `link_tags`, except tags that are being deleted. A tag counts as its merge target. */

import { validationFailed } from '../errors.ts'
import { Ticks } from '../lib/periodic.ts'
import { foldCase } from '../lib/text.ts'
import { type Db, type GroupIds, type PageRequest, parts } from '../storage/port.ts'
import { firstRevision } from '../storage/records.ts'
import { query } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
import { maxTags } from './link.ts'

/** What happens to names without a tag: tags are created, `unknown_tag` is thrown, or the names are ignored. */
export type UnknownTags = 'create' | 'reject' | 'ignore'

/**
 * SQL for the names of a link's tags with commas between them, in the order of `sort_by=name`; null without tags. Most links
 * have none, and sorting nothing takes ten times as long as finding nothing.
 */
export const tagsOfLink = `case when exists (select 1 from link_tags where link_id = links.id) then (
  select string_agg(name, ',' order by name_folded) from (
    select distinct shown.name, shown.name_folded from link_tags
      join tags on tags.id = tag_id
      join tags as shown on shown.id = coalesce(tags.merged_into, tags.id) and shown.account_id = links.account_id
      where link_id = links.id) as named) end`

/** Names of tags that a link gets and loses. A name in both lists is added. */
export interface TagChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

/**
 * Replaces or changes the tags of the account's link, which is locked. Names are case-insensitive. Returns whether that changed
 * anything. Throws `validation_failed` for more than `maxTags`, and for the first unknown name if `unknown` is `reject`.
 */
export async function setTags(
  tx: Db,
  account: number,
  link: number,
  names: readonly string[] | TagChange,
  unknown: UnknownTags,
): Promise<boolean> {
  const isChange = 'add' in names
  const named = await tagsNamed(tx, account, isChange ? names.add : names, unknown)
  const rows = await tx.execute(
    query
      .selectFrom('link_tags')
      .innerJoin('tags', 'tags.id', 'tag_id')
      .select(['tag_id', 'merged_into', 'tags.account_id'])
      .where('link_id', '=', link),
  )
  // Tags in account 0 without a target are being deleted.
  const shownAs = (row: (typeof rows)[number]) => row.merged_into ?? (row.account_id === account ? row.tag_id : 0)
  const shown = new Set(rows.map(shownAs).filter((tag) => tag !== 0))
  const wanted = isChange ? shown.difference(await tagIdsOf(tx, account, names.remove)).union(named) : named
  if (wanted.size > maxTags) throw validationFailed([new Refusal('too_many', { most: maxTags }).at('tags')])
  const removed = rows.filter((row) => !wanted.has(shownAs(row))).map(({ tag_id }) => tag_id)
  if (removed.length > 0) {
    await tx.execute(query.deleteFrom('link_tags').where('link_id', '=', link).where('tag_id', 'in', removed))
  }
  await insertTags(tx, account, link, [...wanted.difference(shown)])
  return shown.symmetricDifference(wanted).size > 0
}

/**
 * Returns the request with the tags that are being merged into each of its tags. Returns null if the account does not have one
 * of its tags, so that no link matches.
 */
export async function withMergingTags(db: Db, account: number, page: PageRequest): Promise<PageRequest | null> {
  const tags = page.groups?.tag_id?.map(([id]) => id) ?? []
  if (tags.length === 0) return page
  const [own, merging] = await Promise.all([
    db.execute(query.selectFrom('tags').select('id').where('account_id', '=', account).where('id', 'in', tags)),
    db.execute(query.selectFrom('tags').select(['id', 'merged_into']).where('merged_into', 'in', tags)),
  ])
  if (own.length < tags.length) return null
  const groups = tags.map((tag): GroupIds => {
    const others = merging.filter(({ merged_into }) => merged_into === tag)
    return [tag, ...others.map(({ id }) => id)]
  })
  return { ...page, groups: { tag_id: groups } }
}

/** Selects the account's tags with these ids, or the tags that they were merged into within the last minute. */
function currentTags(account: number, ids: readonly number[]) {
  return query
    .selectFrom('tags as given')
    .innerJoin('tags', (join) =>
      join.on(({ eb, fn }) => eb('tags.id', '=', fn.coalesce('given.merged_into', 'given.id'))),
    )
    .where('given.id', 'in', ids)
    .where('tags.account_id', '=', account)
}

/** Gives the account's link the tags with these ids that still exist, or that they were merged into within the last minute. */
export async function addTags(tx: Db, account: number, link: number, tags: readonly number[]): Promise<void> {
  if (tags.length === 0) return
  const own = currentTags(account, tags).select('tags.id')
  const existing = await tx.execute(own.orderBy('tags.name_folded').forKeyShare('tags'))
  await insertTags(
    tx,
    account,
    link,
    existing.map(({ id }) => id),
  )
}

async function insertTags(tx: Db, account: number, link: number, tags: readonly number[]): Promise<void> {
  if (tags.length === 0) return
  const rows = tags.map((tag_id) => ({ account_id: account, tag_id, link_id: link }))
  const insertion = query.insertInto('link_tags').values(rows)
  await tx.execute(insertion.onConflict((conflict) => conflict.doNothing()))
}

/** Returns the current names of these tags, as `addTags` finds them. */
export async function tagNamesOf(db: Db, account: number, ids: readonly number[]): Promise<string[]> {
  if (ids.length === 0) return []
  return (await db.execute(currentTags(account, ids).select('tags.name'))).map(({ name }) => name)
}

/** Returns the ids of the account's tags with these case-folded names, by name. */
async function tagIdsByName(db: Db, account: number, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const tags = query.selectFrom('tags').select(['id', 'name_folded']).where('account_id', '=', account)
  const ids = new Map<string, number>()
  for (const some of parts(names, 256)) {
    for (const { id, name_folded } of await db.execute(tags.where('name_folded', 'in', some))) ids.set(name_folded, id)
  }
  return ids
}

/** Returns the ids of the account's tags with these names, case-insensitively. */
export async function tagIdsOf(db: Db, account: number, names: readonly string[]): Promise<ReadonlySet<number>> {
  return new Set((await tagIdsByName(db, account, names.map(foldCase))).values())
}

/** Returns the names that none of the account's tags has, each in its first spelling. */
export async function findUnknownTags(db: Db, account: number, names: Iterable<string>): Promise<string[]> {
  const ticks = new Ticks()
  const spellings = new Map<string, string>()
  for (const name of names) {
    const folded = foldCase(name)
    if (!spellings.has(folded)) spellings.set(folded, name)
    await ticks.next()
  }
  const known = await tagIdsByName(db, account, [...spellings.keys()])
  return [...spellings].flatMap(([folded, name]) => (known.has(folded) ? [] : [name]))
}

/** Returns the ids of the account's tags with these names, and locks them, so that they are not deleted meanwhile. */
async function tagsNamed(
  tx: Db,
  account: number,
  names: readonly string[],
  unknown: UnknownTags,
): Promise<ReadonlySet<number>> {
  if (names.length === 0) return new Set()
  // In one order, so that two transactions do not wait for each other.
  const byName = new Map(names.map((name) => [foldCase(name), name] as const).sort(([a], [b]) => (a < b ? -1 : 1)))
  const find = async () => {
    const tags = query.selectFrom('tags').select(['id', 'name_folded']).where('account_id', '=', account)
    const named = tags.where('name_folded', 'in', [...byName.keys()])
    return tx.execute(named.orderBy('name_folded').forKeyShare())
  }
  const known = await find()
  const missing = [...byName].filter(([folded]) => !known.some(({ name_folded }) => name_folded === folded))
  if (missing.length === 0 || unknown === 'ignore') return new Set(known.map(({ id }) => id))
  const [[, first]] = missing as [(typeof missing)[number]]
  if (unknown === 'reject') throw validationFailed([new Refusal('unknown_tag.name', { name: first }).at('tags')])
  const now = new Date().toISOString()
  const created = missing.map(([name_folded, name]) => ({
    account_id: account,
    name,
    name_folded,
    color: 1,
    created_at: now,
    updated_at: now,
    revision: firstRevision,
  }))
  const insertion = query.insertInto('tags').values(created)
  await tx.execute(insertion.onConflict((conflict) => conflict.columns(['account_id', 'name_folded']).doNothing()))
  return new Set((await find()).map(({ id }) => id))
}
