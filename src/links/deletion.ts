/** Deleted links, which their events can restore for 30 days with their ids, tags and clicks. */
import type { Actor } from '../access/actor.ts'
import { deletedEvent } from '../events/event.ts'
import { eraseEvents, recordEvents, removeClicks } from '../events/store.ts'
import { type Db, parts } from '../storage/port.ts'
import { Records } from '../storage/records.ts'
import { clickLevels, query, type Row } from '../storage/schema.ts'
import { linkEvents } from './link-events.ts'
import { type LinkRow, linkColumns } from './schema.ts'
import { computed } from './store.ts'

/** A link with everything that a restoration needs. Numbers that come from other tables may be text on PostgreSQL. */
export type WholeLink = LinkRow &
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
      await removeClicks(tx, clickLevels.link, gone)
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
