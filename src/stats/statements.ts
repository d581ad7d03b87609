/**
 * The SQL of statistics, for every engine; `store.ts` says what it is for.
 */
import type { Kysely } from 'kysely'
import { scopes } from '../storage/clicks/tables.ts'
import { statement } from '../storage/statement.ts'
import { type Days, daysIn, type Links, linksIn, readAtOnce } from './day-parameters.ts'

interface DaysTable {
  /** See `scopes`. */
  scope: number
  day: number
  /** Of the link, the domain, the space or the account. */
  id: number
  /** In the form of `storage/clicks/day-form.ts`. */
  facts: Uint8Array
}

interface OwnedTable {
  id: number
  account_id: number
}

interface LinksTable extends OwnedTable {
  domain_id: number
}

type Tables = {
  click_days: DaysTable
  links: LinksTable
  domains: OwnedTable
  spaces: OwnedTable
}

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

/** The bytes that the hours of a day take at most: their number, then 24 times a byte and four counts of 53 bits. */
const maxHoursBytes = 2 + 24 * (1 + 4 * 8)

/** The hours of the days of the account's links, among the links and days that are asked for. */
export const selectHoursOfLinks = statement((db: Kysely<Tables>, of: { account: number } & Days & Links) =>
  db
    .selectFrom('click_days')
    .innerJoin('links', 'links.id', 'click_days.id')
    .innerJoin('domains', 'domains.id', 'links.domain_id')
    .select(({ fn, lit }) => [
      'click_days.id',
      'click_days.day',
      fn<Uint8Array>('substr', ['click_days.facts', lit(1), lit(maxHoursBytes)]).as('hours'),
    ])
    .where('click_days.scope', '=', scopes.link)
    .where('links.id', 'in', linksIn(of))
    .where('click_days.day', 'in', daysIn(of, readAtOnce))
    .where('links.account_id', '=', of.account)
    .where('domains.account_id', '=', of.account),
)
