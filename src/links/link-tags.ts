/** Link tags. A link has the tags in `link_tags`, except tags that are being deleted. A tag counts as its merge target. */

import { type Actor, allows } from '../access/actor.ts'
import { type Failure, validationFailed } from '../errors.ts'
import type { NewEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { foldCase } from '../lib/text.ts'
import { Ticks } from '../lib/ticks.ts'
import { type Db, type GroupIds, type PageRequest, parts } from '../storage/port.ts'
import { firstRevision } from '../storage/records.ts'
import { CachedQuery, query } from '../storage/schema.ts'
import { Refusal, type Violation } from '../violations.ts'
import { maxTags } from './link.ts'

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
 * Replaces or changes the tags of the actor's link, which is locked. Names are case-insensitive. Unknown ones become tags.
 * Returns whether that changed anything. Throws `validation_failed` for more than `maxTags`, and for the first unknown name if
 * the actor can't create tags.
 */
export async function setTags(
  tx: Db,
  actor: Actor,
  link: number,
  names: readonly string[] | TagChange,
): Promise<boolean> {
  const { changed, failed } = await setTagsOfLinks(tx, actor, [link], names)
  if (failed.has(link)) throw tooManyTags()
  return changed.has(link)
}

const tooMany = new Refusal('too_many', { most: maxTags }).at('tags')

/** Returns the failure of a link that would have more than `maxTags`. */
export function tooManyTags(): Failure {
  return validationFailed([tooMany])
}

/** Returns a violation if a link with these tags, with commas between their names, would have more than `maxTags`. */
export function tagCountViolations(shown: string | null, { add, remove }: TagChange): readonly Violation[] {
  const own = new Set((shown?.split(',') ?? []).map(foldCase))
  const left = own.difference(new Set(remove.map(foldCase))).union(new Set(add.map(foldCase)))
  return left.size > maxTags ? [tooMany] : []
}

/**
 * Replaces or changes the tags of the account's links in the same way, as `setTags` does. Returns the links whose tags have
 * changed, and the links that failed because they would have more than `maxTags`.
 */
export async function setTagsOfLinks(
  tx: Db,
  actor: Actor,
  links: readonly number[],
  names: readonly string[] | TagChange,
): Promise<{ readonly changed: ReadonlySet<number>; readonly failed: ReadonlySet<number> }> {
  const { account } = actor
  const isChange = 'add' in names
  const named = await tagsNamed(tx, actor, isChange ? names.add : names)
  const unwanted = isChange ? await tagIdsOf(tx, account, names.remove) : new Set<number>()
  const wantedOf = (shown: ReadonlySet<number>) => (isChange ? shown.difference(unwanted).union(named) : named)
  const [changed, failed] = [new Set<number>(), new Set<number>()]
  for (const some of parts(links)) {
    const byLink = await storedTags(tx, account, some)
    const plans = some.map((link) => planTags(link, byLink.get(link) ?? [], wantedOf))
    for (const { link } of plans.filter(({ isPossible }) => !isPossible)) failed.add(link)
    const possible = plans.filter(({ isPossible }) => isPossible)
    for (const { link } of possible.filter(({ isChanged }) => isChanged)) changed.add(link)
    const own = possible.map(({ link }) => link)
    // Whether a tag is removed is the same for all of these links.
    const removed = new Set(possible.flatMap((plan) => plan.removed))
    for (const tags of parts([...removed])) {
      await tx.execute(query.deleteFrom('link_tags').where('link_id', 'in', own).where('tag_id', 'in', tags))
    }
    const added = possible.flatMap((plan) => plan.added)
    await insertLinkTags(tx, account, added)
  }
  return { changed, failed }
}

/** Returns how the tags of a link change. `wantedOf` returns the tags that it should have, from those that it shows. */
function planTags(
  link: number,
  stored: readonly StoredTag[],
  wantedOf: (shown: ReadonlySet<number>) => ReadonlySet<number>,
) {
  const shown = new Set(stored.flatMap(({ shownAs }) => shownAs ?? []))
  const wanted = wantedOf(shown)
  return {
    link,
    isPossible: wanted.size <= maxTags,
    isChanged: shown.symmetricDifference(wanted).size > 0,
    removed: stored.flatMap(({ tag, shownAs }) => (shownAs !== null && wanted.has(shownAs) ? [] : tag)),
    added: [...wanted.difference(shown)].map((tag) => ({ link, tag })),
  }
}

/** A tag as a link has it. `shownAs` is the id of its merge target or of itself; null while it is being deleted. */
interface StoredTag extends LinkTag {
  readonly shownAs: number | null
}

/** Returns the tags of links, by link. */
async function storedTags(tx: Db, account: number, links: readonly number[]): Promise<Map<number, StoredTag[]>> {
  const rows = await tx.execute(
    query
      .selectFrom('link_tags')
      .innerJoin('tags', 'tags.id', 'tag_id')
      .select(['link_id as link', 'tag_id as tag', 'merged_into', 'tags.account_id as owner'])
      .where('link_id', 'in', links),
  )
  const tags = rows.map(({ merged_into, owner, ...tag }) => ({
    ...tag,
    // Tags in account 0 without a target are being deleted.
    shownAs: merged_into ?? (owner === account ? tag.tag : null),
  }))
  return Map.groupBy(tags, ({ link }) => link)
}

/** A tag of a link. */
interface LinkTag {
  readonly link: number
  readonly tag: number
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

/** Gives links of the account those of their tags that still exist. `tags` has the ids of the tags of each link. */
export async function addTags(tx: Db, account: number, tags: ReadonlyMap<number, readonly number[]>): Promise<void> {
  const ids = [...new Set([...tags.values()].flat())]
  if (ids.length === 0) return
  const own = query.selectFrom('tags').select('id').where('account_id', '=', account).where('id', 'in', ids)
  const existing = new Set((await tx.execute(own.orderBy('name_folded').forKeyShare())).map(({ id }) => id))
  const added = [...tags].flatMap(([link, those]) => those.map((tag) => ({ link, tag })))
  await insertLinkTags(
    tx,
    account,
    added.filter(({ tag }) => existing.has(tag)),
  )
}

/** Gives links of the account tags that are locked. */
export async function insertLinkTags(tx: Db, account: number, tags: readonly LinkTag[]): Promise<void> {
  for (const some of parts(tags)) {
    const parameters = some.flatMap(({ link, tag }) => [account, tag, link])
    const rows = some.map(({ link, tag }) => ({ account_id: account, tag_id: tag, link_id: link }))
    const build = () =>
      query
        .insertInto('link_tags')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
    await tx.execute(new CachedQuery(`insert ${rows.length} link tags`, parameters, build))
  }
}

/** Returns the ids of the account's tags with these case-folded names, by name. */
async function tagIdsByName(db: Db, account: number, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const tags = query.selectFrom('tags').select(['id', 'name_folded']).where('account_id', '=', account)
  const ids = new Map<string, number>()
  for (const some of parts(names)) {
    for (const { id, name_folded } of await db.execute(tags.where('name_folded', 'in', some))) ids.set(name_folded, id)
  }
  return ids
}

/** Returns the ids of the account's tags with these names, case-insensitively. */
async function tagIdsOf(db: Db, account: number, names: readonly string[]): Promise<ReadonlySet<number>> {
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
async function tagsNamed(tx: Db, actor: Actor, names: readonly string[]): Promise<ReadonlySet<number>> {
  const known = await lockTags(tx, actor.account, names)
  const violations = unknownTagViolations(actor, names, known)
  if (violations.length > 0) throw validationFailed(violations)
  const all = await createTags(tx, actor, [{ author: actor, names }], known)
  return new Set([...all.values()].map(({ id }) => id))
}

/** Returns a violation for the first of these names without a tag, if the actor can't create tags. */
export async function tagViolations(db: Db, actor: Actor, names: readonly string[]): Promise<readonly Violation[]> {
  if (canCreateTags(actor)) return []
  return unknownTagViolations(actor, names, await tagIdsByName(db, actor.account, names.map(foldCase)))
}

/** Returns whether names without a tag become tags. */
export function canCreateTags(actor: Actor): boolean {
  return allows(actor, 'tags:write')
}

/** A tag of the account. */
interface NamedTag {
  readonly id: number
  readonly name: string
}

/** Returns a violation for the first of these names without a tag, if the actor can't create tags. */
export function unknownTagViolations(
  actor: Actor,
  names: readonly string[],
  known: ReadonlyMap<string, unknown>,
): readonly Violation[] {
  if (canCreateTags(actor)) return []
  const [name] = names.filter((each) => !known.has(foldCase(each))).sort(byFolded)
  return name === undefined ? [] : [new Refusal('unknown_tag.name', { name }).at('tags')]
}

function byFolded(a: string, b: string): number {
  return foldCase(a) < foldCase(b) ? -1 : 1
}

/** Finds the account's tags with these names, by folded name, and locks them, so that they are not deleted meanwhile. */
export async function lockTags(
  tx: Db,
  account: number,
  names: Iterable<string>,
): Promise<ReadonlyMap<string, NamedTag>> {
  const found = new Map<string, NamedTag>()
  // In one order, so that two transactions do not wait for each other.
  const folded = [...new Set([...names].map(foldCase))].sort()
  for (const some of parts(folded)) {
    const tags = query.selectFrom('tags').select(['id', 'name', 'name_folded']).where('account_id', '=', account)
    const named = tags.where('name_folded', 'in', some).orderBy('name_folded').forKeyShare()
    for (const tag of await tx.execute(named)) found.set(tag.name_folded, tag)
  }
  return found
}

/** Names of tags, and who creates those that are missing. */
interface WantedTags {
  readonly author: Actor
  readonly names: Iterable<string>
}

/**
 * Creates the tags that are not in `known`, each for the first author who names it and may create tags. Two transactions with the
 * same names don't deadlock, because they store them in the same order. Returns the tags with all of these names as `lockTags` does.
 */
export async function createTags(
  tx: Db,
  actor: Actor,
  wanted: readonly WantedTags[],
  known: ReadonlyMap<string, NamedTag>,
): Promise<ReadonlyMap<string, NamedTag>> {
  const missing = new Map<string, { readonly name: string; readonly author: Actor }>()
  for (const { author, names } of wanted.filter((each) => canCreateTags(each.author))) {
    for (const name of names) {
      const folded = foldCase(name)
      if (!known.has(folded)) missing.getOrInsert(folded, { name, author })
    }
  }
  if (missing.size === 0) return known
  const { account } = actor
  const now = new Date().toISOString()
  const sorted = [...missing].sort(([a], [b]) => (a < b ? -1 : 1))
  const created = sorted.map(([name_folded, { name }]) => ({
    account_id: account,
    name,
    name_folded,
    color: 1,
    created_at: now,
    updated_at: now,
    revision: firstRevision,
  }))
  for (const some of parts(created)) {
    const insertion = query.insertInto('tags').values(some)
    const ifFree = insertion.onConflict((conflict) => conflict.columns(['account_id', 'name_folded']).doNothing())
    const stored = await tx.execute(ifFree.returning(['id', 'name', 'name_folded', 'color']))
    const events = stored.map(({ id, name, name_folded, color }) => {
      const changes: NewEvent['changes'] = { name: [null, name], color: [null, color] }
      const { author = actor } = missing.get(name_folded) ?? {}
      return { record: 'tag', action: 'created', id, name, changes, author } as const
    })
    await recordEvents(tx, actor, events)
  }
  return new Map([...known, ...(await lockTags(tx, account, missing.keys()))])
}
