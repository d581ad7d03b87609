/** Deleted links, which their events can restore for 30 days with their ids, tags and clicks. */
import type { Actor } from '../access/actor.ts'
import { recountLink } from '../analytics/recent.ts'
import { enqueueClickRemoval } from '../analytics/tables.ts'
import { aliasTaken, notUndoable } from '../errors.ts'
import { deletedEvent, restoredEvent } from '../events/event.ts'
import { eraseEvents, recordEvents } from '../events/store.ts'
import { foldCase } from '../lib/text.ts'
import { type Db, parts } from '../storage/port.ts'
import { Records, type Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row } from '../storage/schema.ts'
import { linkEvents } from './link-events.ts'
import { addTags } from './link-tags.ts'
import { type LinkRow, linkColumns } from './schema.ts'
import { computed, findLink, foldedOf, lockDomain } from './store.ts'

/** A link with everything that a restoration needs. Numbers that come from other tables may be text on PostgreSQL. */
type WholeLink = LinkRow &
  Pick<Row<'link_clicks'>, 'bots' | 'previews' | 'forgotten_ms'> & {
    readonly revision: number
    /** Its tags, as JSON. */
    readonly tag_ids: string
    /** Whether its clicks have not yet followed it to its domain and space. */
    readonly is_moving: number
  }

const totalOf = (column: string) => `(select ${column} from link_clicks where link_id = links.id)`

const wholeLinks = new Records<WholeLink>(
  'links',
  [...linkColumns, 'bots', 'previews', 'forgotten_ms', 'tag_ids', 'is_moving'],
  {
    ...computed,
    bots: totalOf('bots'),
    previews: totalOf('previews'),
    forgotten_ms: totalOf('forgotten_ms'),
    tag_ids: `(select '[' || coalesce(string_agg(cast(tag_id as text), ','), '') || ']' from link_tags where link_id = links.id)`,
    is_moving: '(select count(*) from click_moves where link_id = links.id)',
  },
)

/** The columns of the table that a link shows. */
const ownColumns = linkColumns.filter((column) => column === 'space_id' || !(column in computed))

/** Links that one statement deletes. */
const deletedTogether = 256

interface LinkDeletion {
  readonly isPermanent: boolean
  /** The name of the links' domain if it is being removed; null if their domain is there. */
  readonly removedDomain: string | null
}

/**
 * Deletes the actor's links with these ids, in a transaction. Returns the deleted ids. Clicks stay as long as the event can
 * restore the link, unless the deletion is permanent.
 */
export async function deleteLinks(
  tx: Db,
  actor: Actor,
  ids: readonly number[],
  { isPermanent, removedDomain }: LinkDeletion,
): Promise<ReadonlySet<number>> {
  const { account } = actor
  const deleted = new Set<number>()
  for (const some of parts(ids, deletedTogether)) {
    const own = () => query.selectFrom('links').select('id').where('account_id', '=', account).where('id', 'in', some)
    await tx.execute(own().orderBy('id').forUpdate())
    // Locked, so that no click is counted before the links are gone.
    const totals = query.selectFrom('link_clicks').select('link_id').where('link_id', 'in', some)
    await tx.execute(totals.orderBy('link_id').forUpdate())
    const found = [...(await wholeLinks.findAll(tx, account, some)).values()]
    const links = found.flatMap(({ record, version }) => linkWithDomain(record, version, removedDomain))
    if (links.length === 0) continue
    const gone = links.map(({ id }) => id)
    await tx.execute(query.deleteFrom('links').where('account_id', '=', account).where('id', 'in', gone))
    if (isPermanent) {
      await enqueueClickRemoval(tx, clickLevels.link, gone)
      await eraseEvents(tx, account, 'link', gone)
    }
    const events = links.map((link) => deletedEvent(linkEvents, link, isPermanent ? null : link))
    await recordEvents(tx, actor, events)
    for (const id of gone) deleted.add(id)
  }
  return deleted
}

/** Returns no link if its domain is being removed, unless that removal deletes it. */
function linkWithDomain(link: WholeLink, version: string, removedDomain: string | null): WholeLink[] {
  const domain_name = removedDomain ?? link.domain_name
  return domain_name === null ? [] : [{ ...link, domain_name, revision: Number.parseInt(version, 10) }]
}

/**
 * Stores a deleted link again, in a new version, with those of its tags and without its space if they are gone. Returns the
 * link. Throws `not_undoable` if its domain is gone, and `alias_taken`.
 */
export async function restoreLink(tx: Db, actor: Actor, kept: unknown): Promise<Versioned<LinkRow>> {
  const { account } = actor
  const link = kept as WholeLink
  const domain = await lockDomain(tx, account, link.domain_id)
  if (domain === undefined) throw notUndoable(`The domain ${link.domain_name} is gone.`)
  const space_id = await existingSpace(tx, account, link.space_id)
  const now = new Date().toISOString()
  const row = {
    ...Object.fromEntries(ownColumns.map((column) => [column, link[column]])),
    // Another version may have folded them.
    ...foldedOf(link),
    alias_folded: foldCase(link.alias),
    ...{ account_id: account, space_id, status: 'active', revision: link.revision + 1 },
    updated_at: link.updated_at < now ? now : link.updated_at,
    // Sorts before every time, so that the status is updated before it is next used as a filter.
    status_due_at: '',
  }
  const insertion = query.insertInto('links').values(row as Row<'links'>)
  const ifFree = insertion.onConflict((conflict) => conflict.columns(['domain_id', 'alias_folded']).doNothing())
  if ((await tx.execute(ifFree.returning('id'))).length === 0) throw aliasTaken(link.alias)
  const { clicks, bots, previews, last_clicked_ms, forgotten_ms } = link
  const totals = { clicks, bots, previews, last_clicked_ms, forgotten_ms }
  await tx.execute(query.updateTable('link_clicks').set(totals).where('link_id', '=', link.id))
  if (clicks > 0) await recountLink(tx, account, link.id)
  await addTags(tx, account, link.id, JSON.parse(link.tag_ids))
  if (Number(link.is_moving) > 0 || space_id !== link.space_id) {
    await tx.execute(query.insertInto('click_moves').values({ link_id: link.id }))
  }
  const restored = (await findLink(tx, account, link.id)) as Versioned<LinkRow>
  await recordEvents(tx, actor, [restoredEvent(linkEvents, restored.record)])
  return restored
}

/** Returns the id of the space, which is locked; null if it is gone. */
async function existingSpace(tx: Db, account: number, id: number | null): Promise<number | null> {
  if (id === null) return null
  const space = query.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', account)
  return (await tx.execute(space.forKeyShare()))[0]?.id ?? null
}
