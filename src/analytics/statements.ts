/** The SQL of clicks beside their writer's; `store.ts` says what it is for. */
import { type Kysely, sql } from 'kysely'
import { type DayKey, scopes } from '../storage/clicks/tables.ts'
import type { LinkTotals } from '../storage/clicks/totals.ts'
import { statement, toChange } from '../storage/statement.ts'
import type { Bounds } from './writer.ts'

interface OfDay {
  day: number
}

interface DaysTable extends OfDay {
  scope: number
  id: number
  facts: Uint8Array
}

/** The totals of a link, and to whom it belongs. */
export interface TotalsRow extends LinkTotals {
  account_id: number
  domain_id: number
  space_id: number | null
  former_space_id: number | null
  former_before: number
}

interface Tables {
  click_days: DaysTable
  click_visitors: OfDay
  click_salts: OfDay
  click_moves: { link_id: number }
  click_removals: { id: number }
  link_clicks: TotalsRow
  deleted_links: { id: number; deleted_at: string }
  links: {
    id: number
    account_id: number
    domain_id: number
    alias: string
    alias_folded: string
    clicks_limit: number | null
    status_due_at: string | null
  }
  domains: { id: number; account_id: number; name: string }
}

/** One row if any upkeep is due. */
export const selectDue = statement((db: Kysely<Tables>, { visitorsBefore, daysBefore }: Bounds) =>
  db
    .selectNoFrom(sql<number>`1`.as('due'))
    .where(({ or, exists, selectFrom }) =>
      or([
        exists(selectFrom('click_salts').select('day').where('day', '<', visitorsBefore)),
        exists(selectFrom('click_visitors').select('day').where('day', '<', visitorsBefore)),
        ...Object.values(scopes).map((scope) =>
          exists(
            selectFrom('click_days').select('day').where('scope', '=', sql.lit(scope)).where('day', '<', daysBefore),
          ),
        ),
        exists(selectFrom('click_moves').select('link_id')),
        exists(selectFrom('click_removals').select('id')),
      ]),
    ),
)

/** Any link that was deleted at `until` or before. */
export const selectUnrestorable = statement((db: Kysely<Tables>, { until }: { until: string }) =>
  db.selectFrom('deleted_links').select('id').where('deleted_at', '<=', until).limit(1),
)

export const deleteUnrestorable = statement((db: Kysely<Tables>, { until }: { until: string }) =>
  db.deleteFrom('deleted_links').where('deleted_at', '<=', until),
)

const ofLink = sql.lit(scopes.link)

/** The first day after `after` on which any link has clicks; one row, with null if there is none. */
export const selectNextDay = statement((db: Kysely<Tables>, { after }: { after: number }) =>
  db
    .selectFrom('click_days')
    .select(({ fn }) => fn.min('day').as('day'))
    .where('scope', '=', ofLink)
    .where('day', '>', after),
)

interface DayPage {
  readonly account: number
  readonly day: number
  readonly after: number
  readonly last: number
  readonly limit: number
}

/** Links of domains that are being removed are left out: they are gone for all who ask. */
export const selectDays = statement((db: Kysely<Tables>, { account, day, after, last, limit }: DayPage) =>
  db
    .selectFrom('click_days')
    .innerJoin('link_clicks', 'link_clicks.link_id', 'click_days.id')
    .innerJoin('links', 'links.id', 'click_days.id')
    .innerJoin('domains', 'domains.id', 'link_clicks.domain_id')
    .select(['click_days.id as link', 'domains.name as domain', 'links.alias', 'click_days.facts'])
    .where('scope', '=', ofLink)
    .where('day', '=', day)
    .where('click_days.id', '>', after)
    .where('click_days.id', '<=', last)
    .where('link_clicks.account_id', '=', account)
    .where('domains.account_id', '=', account)
    .orderBy('click_days.id')
    .limit(limit),
)

/** Links that one statement names. */
export const linksAtOnce = 100

/** `id0`, `id1` and so on. */
export type Ids = Readonly<Record<`id${number}`, number>>

/** The parameters for links: no more than are named at once. */
export function parametersFor(links: readonly number[]): Ids {
  const noLink = 0
  return Object.fromEntries(Array.from({ length: linksAtOnce }, (_, n) => [`id${n}`, links[n] ?? noLink]))
}

const idsIn = (ids: Ids) => Array.from({ length: linksAtOnce }, (_, n) => ids[`id${n}`] as number)

/** The facts of a day of links. */
export const selectFactsOf = statement((db: Kysely<Tables>, of: Ids & OfDay) =>
  db
    .selectFrom('click_days')
    .select(['id', 'facts'])
    .where('scope', '=', ofLink)
    .where('day', '=', of.day)
    .where('id', 'in', idsIn(of)),
)

/** Those of the account's links that have a limit. */
export const selectLimitedToChange = toChange(
  statement((db: Kysely<Tables>, of: Ids & { account: number }) =>
    db
      .selectFrom('links')
      .select('id')
      .where('id', 'in', idsIn(of))
      .where('account_id', '=', of.account)
      .where('clicks_limit', 'is not', null)
      .orderBy('id'),
  ),
)

export const selectByShortLink = statement(
  (db: Kysely<Tables>, link: { account: number; domain: string; alias_folded: string }) =>
    db
      .selectFrom('links')
      .innerJoin('domains', 'domains.id', 'links.domain_id')
      .select('links.id')
      .where('domains.name', '=', link.domain)
      .where('domains.account_id', '=', link.account)
      .where('links.account_id', '=', link.account)
      .where('links.alias_folded', '=', link.alias_folded),
)

/** Those of links of the account. */
export const selectTotalsToChange = toChange(
  statement((db: Kysely<Tables>, of: Ids & { account: number }) =>
    db
      .selectFrom('link_clicks')
      .selectAll()
      .where('link_id', 'in', idsIn(of))
      .where('account_id', '=', of.account)
      .orderBy('link_id'),
  ),
)

/** Has the state of a link with a limit brought up to date before it is next filtered by. */
export const makeDue = statement((db: Kysely<Tables>, { link }: { link: number }) =>
  db.updateTable('links').set({ status_due_at: '' }).where('id', '=', link).where('clicks_limit', 'is not', null),
)

export const selectDayToChange = toChange(
  statement((db: Kysely<Tables>, { scope, day, id }: DayKey) =>
    db
      .selectFrom('click_days')
      .select('facts')
      .where('scope', '=', scope as number)
      .where('day', '=', day)
      .where('id', '=', id),
  ),
)

export const setDay = statement((db: Kysely<Tables>, { scope, day, id, facts }: DayKey & { facts: Uint8Array }) =>
  db
    .insertInto('click_days')
    .values({ scope, day, id, facts })
    .onConflict((there) => there.columns(['scope', 'day', 'id']).doUpdateSet({ facts })),
)
