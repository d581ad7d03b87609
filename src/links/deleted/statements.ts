/** The SQL of links that can be restored; `store.ts` says what it is for. */
import type { Kysely, Selectable } from 'kysely'
import { scopes } from '../../storage/clicks/tables.ts'
import type { LinksTable } from '../../storage/schema.ts'
import { statement, toChange } from '../../storage/statement.ts'

const stored = [
  'domain_id',
  'space_id',
  'alias',
  'alias_folded',
  'url',
  'url_folded',
  'title',
  'title_folded',
  'disabled',
  'active_period_start_at',
  'active_period_end_at',
  'clicks_limit',
  'expiration_url',
  'redirect_password',
  'forward_query',
  'redirect_status',
  'status',
  'status_due_at',
  'created_at',
  'updated_at',
] as const

/** The totals of a link's clicks, and the spaces whose days hold these: see the migration of `link_clicks`. */
export interface Totals {
  readonly clicks: number
  readonly bots: number
  readonly previews: number
  readonly last_clicked_ms: number | null
  readonly forgotten_ms: number | null
  readonly counted_space_id: number | null
  readonly former_space_id: number | null
  readonly former_before: number
}

/** All that is stored of a link. */
export type WholeLink = Readonly<Pick<Selectable<LinksTable>, (typeof stored)[number] | 'revision'>> & Totals

interface Tables {
  links: Selectable<LinksTable>
  link_clicks: Omit<Totals, 'counted_space_id'> & { link_id: number; account_id: number; space_id: number | null }
  click_moves: { link_id: number }
  click_removals: { scope: number; id: number }
  deleted_links: { id: number; account_id: number; deleted_at: string; clicks: number; link: string }
  domains: { id: number; account_id: number; name: string }
  spaces: { id: number; account_id: number }
}

interface Owned {
  readonly account: number
  readonly id: number
}

/** Locks the totals, too, so that no click is written meanwhile. No row if the link's domain is being removed. */
export const selectWholeToChange = toChange(
  statement((db: Kysely<Tables>, { account, id }: Owned) =>
    db
      .selectFrom('links')
      .innerJoin('link_clicks', 'link_clicks.link_id', 'links.id')
      .select([
        ...stored.map((column) => `links.${column}` as const),
        ...(['links.revision', 'clicks', 'bots', 'previews', 'last_clicked_ms', 'forgotten_ms'] as const),
        ...(['former_space_id', 'former_before'] as const),
        'link_clicks.space_id as counted_space_id',
      ])
      .where('links.id', '=', id)
      .where('links.account_id', '=', account)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('domains').select('id').whereRef('id', '=', 'links.domain_id').where('account_id', '=', account),
        ),
      ),
  ),
)

export const insertDeleted = statement(
  (db: Kysely<Tables>, deleted: Owned & { deleted_at: string; clicks: number; link: string }) =>
    db.insertInto('deleted_links').values({
      id: deleted.id,
      account_id: deleted.account,
      deleted_at: deleted.deleted_at,
      clicks: deleted.clicks,
      link: deleted.link,
    }),
)

/** Keeps the days of a deleted link. */
export const keepDays = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db
    .deleteFrom('click_removals')
    .where('scope', '=', scopes.link as number)
    .where('id', '=', id),
)

export const selectDeleted = statement(
  (db: Kysely<Tables>, { account, id, since }: Owned & { readonly since: string }) =>
    db
      .selectFrom('deleted_links')
      .select('link')
      .where('id', '=', id)
      .where('account_id', '=', account)
      .where('deleted_at', '>', since),
)
export const selectDeletedToChange = toChange(selectDeleted)

export const deleteDeleted = statement((db: Kysely<Tables>, { account, id }: Owned) =>
  db.deleteFrom('deleted_links').where('id', '=', id).where('account_id', '=', account),
)

export const selectDomain = statement((db: Kysely<Tables>, { account, id }: Owned) =>
  db.selectFrom('domains').select(['id', 'name']).where('id', '=', id).where('account_id', '=', account),
)
export const selectDomainToChange = toChange(selectDomain)
export const selectSpaceToChange = toChange(
  statement((db: Kysely<Tables>, { account, id }: Owned) =>
    db.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', account),
  ),
)
export const deleteLink = statement((db: Kysely<Tables>, { account, id }: Owned) =>
  db.deleteFrom('links').where('id', '=', id).where('account_id', '=', account),
)

/** Returns no row if the alias is taken. */
export const insertAgain = statement(
  (db: Kysely<Tables>, link: Owned & Readonly<Pick<Selectable<LinksTable>, (typeof stored)[number] | 'revision'>>) =>
    db
      .insertInto('links')
      .values({
        id: link.id,
        account_id: link.account,
        revision: link.revision,
        ...(Object.fromEntries(stored.map((column) => [column, link[column]])) as Pick<
          WholeLink,
          (typeof stored)[number]
        >),
      })
      .onConflict((conflict) => conflict.columns(['domain_id', 'alias_folded']).doNothing())
      .returning('id'),
)

export const setWholeTotals = statement((db: Kysely<Tables>, totals: Owned & Totals) =>
  db
    .updateTable('link_clicks')
    .set({
      clicks: totals.clicks,
      bots: totals.bots,
      previews: totals.previews,
      last_clicked_ms: totals.last_clicked_ms,
      forgotten_ms: totals.forgotten_ms,
      space_id: totals.counted_space_id,
      former_space_id: totals.former_space_id,
      former_before: totals.former_before,
    })
    .where('link_id', '=', totals.id)
    .where('account_id', '=', totals.account),
)

/** Has the clicks of a link follow it to the space that it is in. */
export const insertMove = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db
    .insertInto('click_moves')
    .values({ link_id: id })
    .onConflict((there) => there.doNothing()),
)
