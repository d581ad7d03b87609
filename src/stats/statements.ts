/**
 * The SQL of statistics, for every engine; `store.ts` says what it is for.
 */
import type { Kysely } from 'kysely'
import { statement, toChange } from '../storage/statement.ts'
import { changedAtOnce, type Days, daysIn, readAtOnce } from './day-parameters.ts'

interface DaysTable {
  /** See `scopes`. */
  scope: number
  day: number
  /** Of the link, the domain, the space or the account. */
  id: number
  /** In the form of `storage/clicks/day-form.ts`. */
  facts: Uint8Array
}

interface TotalsTable {
  link_id: number
  account_id: number
  domain_id: number
  space_id: number | null
  clicks: number
  bots: number
  previews: number
  last_clicked_ms: number | null
}

interface OwnedTable {
  id: number
  account_id: number
}

interface LinksTable extends OwnedTable {
  domain_id: number
  clicks_limit: number | null
  status_due_at: string | null
  created_at: string
}

type Tables = {
  click_days: DaysTable
  link_clicks: TotalsTable
  links: LinksTable
  domains: OwnedTable
  spaces: OwnedTable
  changes: { resource: string; record_id: number }
}

/** What clicks are added up by, in the order in which transactions lock its days. */
export const scopes = { link: 0, domain: 1, space: 2, account: 3 } as const
export type Scope = keyof typeof scopes

interface Owned {
  readonly account: number
  readonly id: number
}

const owned = (db: Kysely<Tables>, table: 'domains' | 'spaces', own: Owned) =>
  db.selectFrom(table).select('id').where('id', '=', own.id).where('account_id', '=', own.account)

/** A link goes with its domain, at once for all who ask. */
const ownedLink = (db: Kysely<Tables>, own: Owned) =>
  db
    .selectFrom('links')
    .where('id', '=', own.id)
    .where('account_id', '=', own.account)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('domains').select('id').whereRef('id', '=', 'links.domain_id').where('account_id', '=', own.account),
      ),
    )

/** The account's link, domain or space with this id. */
export const selectOwned = {
  link: statement((db: Kysely<Tables>, own: Owned) => ownedLink(db, own).select('id')),
  domain: statement((db: Kysely<Tables>, own: Owned) => owned(db, 'domains', own)),
  space: statement((db: Kysely<Tables>, own: Owned) => owned(db, 'spaces', own)),
}

type OfDays = Owned & Days

/** The days of a scope among those that are asked for. */
const daysAmong = (db: Kysely<Tables>, scope: Scope, id: number, days: Days) =>
  db
    .selectFrom('click_days')
    .select(['day', 'facts'])
    .where('scope', '=', scopes[scope])
    .where('id', '=', id)
    .where('day', 'in', daysIn(days, readAtOnce))

/** The days of what is the account's, and of the account itself. */
export const selectDays = {
  link: statement((db: Kysely<Tables>, of: OfDays) =>
    daysAmong(db, 'link', of.id, of).where(({ exists }) => exists(ownedLink(db, of).select('id'))),
  ),
  domain: statement((db: Kysely<Tables>, of: OfDays) =>
    daysAmong(db, 'domain', of.id, of).where(({ exists }) => exists(owned(db, 'domains', of))),
  ),
  space: statement((db: Kysely<Tables>, of: OfDays) =>
    daysAmong(db, 'space', of.id, of).where(({ exists }) => exists(owned(db, 'spaces', of))),
  ),
  account: statement((db: Kysely<Tables>, of: OfDays) => daysAmong(db, 'account', of.account, of)),
}

export const selectLink = statement((db: Kysely<Tables>, own: Owned) => ownedLink(db, own).select('created_at'))

/** Returns no row if the link is not the account's, or its domain is being removed. */
export const selectTotals = toChange(
  statement((db: Kysely<Tables>, own: Owned) =>
    db
      .selectFrom('link_clicks')
      .select(['domain_id', 'space_id'])
      .where('link_id', '=', own.id)
      .where(({ exists }) => exists(ownedLink(db, own).select('id'))),
  ),
)

/** The first few of a link's days, of those that are asked for. */
export const selectLinkDays = toChange(
  statement((db: Kysely<Tables>, of: { readonly id: number } & Days) =>
    daysAmong(db, 'link', of.id, of).orderBy('day').limit(changedAtOnce),
  ),
)

/** The same days of what the link's clicks are added up by, in the order of locks. */
export const selectSums = toChange(
  statement((db: Kysely<Tables>, of: { readonly scope: number; readonly id: number } & Days) =>
    db
      .selectFrom('click_days')
      .select(['day', 'facts'])
      .where('scope', '=', of.scope)
      .where('id', '=', of.id)
      .where('day', 'in', daysIn(of, changedAtOnce))
      .orderBy('day'),
  ),
)

type Place = Pick<DaysTable, 'scope' | 'day' | 'id'>

export const updateDay = statement((db: Kysely<Tables>, { scope, day, id, facts }: DaysTable) =>
  db.updateTable('click_days').set({ facts }).where('scope', '=', scope).where('day', '=', day).where('id', '=', id),
)

export const deleteDay = statement((db: Kysely<Tables>, { scope, day, id }: Place) =>
  db.deleteFrom('click_days').where('scope', '=', scope).where('day', '=', day).where('id', '=', id),
)

export const lowerTotals = statement(
  (db: Kysely<Tables>, less: Omit<TotalsTable, 'account_id' | 'domain_id' | 'space_id' | 'last_clicked_ms'>) =>
    db
      .updateTable('link_clicks')
      .set((e) => ({
        clicks: e('clicks', '-', less.clicks),
        bots: e('bots', '-', less.bots),
        previews: e('previews', '-', less.previews),
      }))
      .where('link_id', '=', less.link_id),
)

export const clearTotals = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db
    .updateTable('link_clicks')
    .set({ clicks: 0, bots: 0, previews: 0, last_clicked_ms: null })
    .where('link_id', '=', id),
)

/** A link that was used up works again. The empty text sorts before every time, so that its state is settled first. */
export const makeStatusDue = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db
    .updateTable('links')
    .set({ status_due_at: '' })
    .where('id', '=', id)
    .where('clicks_limit', 'is not', null)
    .returning('id'),
)

/** Tells every node that visitors can notice a change of the link. */
export const insertChange = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db.insertInto('changes').values({ resource: 'links', record_id: id }),
)
