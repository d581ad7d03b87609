/**
 * The SQL of statistics, for every engine; `store.ts` says what it is for.
 */
import { type Kysely, SqliteAdapter, sql } from 'kysely'
import { headBytes } from '../../storage/clicks/day-form.ts'
import { scopes } from '../../storage/clicks/tables.ts'
import { statement } from '../../storage/statement.ts'
import { type Days, daysIn, type Links, linksIn, type Parts, readAtOnce } from './day-parameters.ts'

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
type OfParts = Owned & Parts

/** SQLite reads rows whole: a part of the bytes would take it as long. */
const head = (db: Kysely<Tables>) => {
  const isWhole = db.getExecutor().adapter instanceof SqliteAdapter
  const facts = isWhole ? sql<Uint8Array>`facts` : sql<Uint8Array>`substr(facts, 1, ${sql.lit(headBytes)})`
  return facts.as('head')
}

/** Of each day its own part; SQL counts bytes from 1. */
const partOf = (parts: Parts) => {
  const cases = Array.from({ length: readAtOnce }, (_, n) => {
    const [day, at, bytes] = [parts[`day${n}`], parts[`at${n}`], parts[`bytes${n}`]]
    return sql`when ${day} then substr(facts, ${at} + 1, ${bytes})`
  })
  return sql<Uint8Array>`case day ${sql.join(cases, sql` `)} end`.as('part')
}

/** The days of a scope among those that are asked for. */
const daysAmong = (db: Kysely<Tables>, scope: Scope, id: number, days: Days) =>
  db
    .selectFrom('click_days')
    .select(['day', head(db)])
    .where('scope', '=', scopes[scope])
    .where('id', '=', id)
    .where('day', 'in', daysIn(days, readAtOnce))

/** The days of what is the account's, and of the account itself. */
const own = {
  link: (db: Kysely<Tables>, of: OfDays) =>
    daysAmong(db, 'link', of.id, of).where(({ exists }) => exists(ownedLink(db, of).select('id'))),
  domain: (db: Kysely<Tables>, of: OfDays) =>
    daysAmong(db, 'domain', of.id, of).where(({ exists }) => exists(owned(db, 'domains', of))),
  space: (db: Kysely<Tables>, of: OfDays) =>
    daysAmong(db, 'space', of.id, of).where(({ exists }) => exists(owned(db, 'spaces', of))),
  account: (db: Kysely<Tables>, of: OfDays) => daysAmong(db, 'account', of.account, of),
}

const headsOf = (scope: Scope) => statement((db: Kysely<Tables>, of: OfDays) => own[scope](db, of))
const partsOf = (scope: Scope) => statement((db: Kysely<Tables>, of: OfParts) => own[scope](db, of).select(partOf(of)))

/** The heads of days: see `storage/clicks/day-parts.ts`. */
export const selectHeads = {
  link: headsOf('link'),
  domain: headsOf('domain'),
  space: headsOf('space'),
  account: headsOf('account'),
}

/** A part of each day, with the head that it is then of. */
export const selectParts = {
  link: partsOf('link'),
  domain: partsOf('domain'),
  space: partsOf('space'),
  account: partsOf('account'),
}

/** The hours of the days of the account's links, among the links and days that are asked for. */
export const selectHoursOfLinks = statement((db: Kysely<Tables>, of: { account: number } & Days & Links) =>
  db
    .selectFrom('click_days')
    .innerJoin('links', 'links.id', 'click_days.id')
    .innerJoin('domains', 'domains.id', 'links.domain_id')
    .select(({ fn, lit }) => [
      'click_days.id',
      'click_days.day',
      fn<Uint8Array>('substr', ['click_days.facts', lit(1), lit(headBytes)]).as('hours'),
    ])
    .where('click_days.scope', '=', scopes.link)
    .where('links.id', 'in', linksIn(of))
    .where('click_days.day', 'in', daysIn(of, readAtOnce))
    .where('links.account_id', '=', of.account)
    .where('domains.account_id', '=', of.account),
)
