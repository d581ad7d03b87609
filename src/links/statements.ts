/** The SQL of links, for every engine; `store.ts` says what it is for. */
import { type Generated, type Kysely, sql } from 'kysely'
import { recordsOf } from '../storage/records.ts'
import { insertion, statement } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import { countedAtMost, type Owners, ownersIn } from './counts-parameters.ts'
import type { Status } from './link.ts'

/** A link as it is stored. Flags are 0 and 1, and times RFC 3339 in UTC with milliseconds. */
export interface LinkRow {
  readonly id: number
  readonly domain_id: number
  readonly space_id: number | null
  readonly alias: string
  readonly url: string
  readonly title: string | null
  readonly disabled: number
  readonly active_period_start_at: string | null
  readonly active_period_end_at: string | null
  readonly clicks_limit: number | null
  readonly expiration_url: string | null
  /** An argon2id hash in PHC form. */
  readonly redirect_password: string | null
  readonly forward_query: number
  readonly redirect_status: number
  readonly clicks: number
  /** Unix milliseconds. */
  readonly last_clicked_ms: number | null
  readonly created_at: string
  readonly updated_at: string
  /** Null while the domain is being removed. */
  readonly domain_name: string | null
}

export interface LinksTable extends Omit<LinkRow, 'id' | 'domain_name' | 'clicks' | 'last_clicked_ms'> {
  id: Generated<number>
  account_id: number
  alias_folded: string
  /** Null if the URL is its own folded form, as `title_folded` is of the title. */
  url_folded: string | null
  title_folded: string | null
  /** The state for filters, which is up to date unless `status_due_at` has passed. */
  status: Status
  status_due_at: string | null
  revision: number
}

interface OwnedTable {
  id: number
  account_id: number
  name: string
}

/** Has a row for each link, which comes and goes with it. */
interface LinkClicksTable {
  link_id: number
  account_id: number
  clicks: number
  bots: number
  previews: number
}

type Tables = { links: LinksTable; link_clicks: LinkClicksTable; domains: OwnedTable; spaces: OwnedTable }

const clicks = '(select clicks from link_clicks where link_id = links.id)'

/** What is not of the link's own table. A space that is being removed counts as none. */
export const computed = {
  domain_name: '(select name from domains where id = links.domain_id and account_id = links.account_id)',
  space_id: '(select id from spaces where id = links.space_id and account_id = links.account_id)',
  clicks,
  last_clicked_ms: '(select last_clicked_ms from link_clicks where link_id = links.id)',
}

export const links = recordsOf<LinkRow>(
  'links',
  [
    ...(['id', 'domain_id', 'space_id', 'alias', 'url', 'title', 'disabled', 'active_period_start_at'] as const),
    ...(['active_period_end_at', 'clicks_limit', 'expiration_url', 'redirect_password', 'forward_query'] as const),
    ...(['redirect_status', 'clicks', 'last_clicked_ms', 'created_at', 'updated_at', 'domain_name'] as const),
  ],
  [
    ...['space_id', 'alias', 'alias_folded', 'url', 'url_folded', 'title', 'title_folded', 'disabled'],
    ...['active_period_start_at', 'active_period_end_at', 'clicks_limit', 'expiration_url', 'redirect_password'],
    ...['forward_query', 'redirect_status'],
  ],
  { computed, unversioned: ['status_due_at'] },
)

/** The columns that a link is stored with, beside its account and revision. */
export const stored = [
  ...(['domain_id', 'space_id', 'alias', 'alias_folded', 'url', 'url_folded', 'title', 'title_folded'] as const),
  ...(['disabled', 'active_period_start_at', 'active_period_end_at', 'clicks_limit', 'expiration_url'] as const),
  ...(['redirect_password', 'forward_query', 'redirect_status', 'status', 'status_due_at'] as const),
  ...(['created_at', 'updated_at'] as const),
]

export type Insert = { readonly account: number } & Readonly<Pick<LinksTable, (typeof stored)[number]>>

/**
 * Returns no row if the alias is taken, or if the domain or the space is not one of the account. The unique index decides
 * about the alias; but on some engines a row that it refuses uses up an id, so the statement looks for the alias first.
 */
export const insert = insertion((db: Kysely<Tables>, link: Insert) => {
  const owned = (table: 'domains' | 'spaces', id: number | null) =>
    db
      .selectFrom(table)
      .select('id')
      .where('id', '=', id as number)
      .where('account_id', '=', link.account)
  const clashing = db
    .selectFrom('links')
    .select('id')
    .where('domain_id', '=', link.domain_id)
    .where('alias_folded', '=', link.alias_folded)
  return db
    .insertInto('links')
    .columns(['account_id', 'revision', ...stored])
    .expression(
      db
        .selectNoFrom((e) => [
          e.val(link.account).as('account_id'),
          e.val(firstRevision).as('revision'),
          ...stored.map((column) => e.val(link[column]).as(column)),
        ])
        .where((e) => e.exists(owned('domains', link.domain_id)))
        .where((e) =>
          e.or([sql<boolean>`cast(${link.space_id} as bigint) is null`, e.exists(owned('spaces', link.space_id))]),
        )
        .where((e) => e.not(e.exists(clashing))),
    )
    .onConflict((conflict) => conflict.columns(['domain_id', 'alias_folded']).doNothing())
})

/** The clicks of programs on the links whose ids are between two others. */
export const selectPrograms = statement(
  (db: Kysely<Tables>, { account, after, last }: { account: number; after: number; last: number }) =>
    db
      .selectFrom('link_clicks')
      .select(['link_id', 'bots', 'previews'])
      .where('account_id', '=', account)
      .where('link_id', '>', after)
      .where('link_id', '<=', last),
)

interface Owned {
  readonly account: number
  readonly id: number
}

export const selectDomain = statement((db: Kysely<Tables>, { account, id }: Owned) =>
  db.selectFrom('domains').select(['id', 'name']).where('id', '=', id).where('account_id', '=', account),
)

export const selectOldestDomain = statement((db: Kysely<Tables>, { account }: { account: number }) =>
  db.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account).orderBy('id').limit(1),
)

export const selectSpace = statement((db: Kysely<Tables>, { account, id }: Owned) =>
  db.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', account),
)

/** Returns no row if the link's domain is being removed: the link is gone with it. */
export const deleteServed = statement((db: Kysely<Tables>, { account, id }: Owned) =>
  db
    .deleteFrom('links')
    .where('id', '=', id)
    .where('account_id', '=', account)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('domains').select('id').whereRef('id', '=', 'links.domain_id').where('account_id', '=', account),
      ),
    )
    .returning('id'),
)

interface Named {
  readonly account: number
  readonly domain_id: number
  readonly alias_folded: string
}

export const selectByAlias = statement((db: Kysely<Tables>, { account, domain_id, alias_folded }: Named) =>
  db
    .selectFrom('links')
    .select(['id', 'updated_at', 'revision'])
    .where('domain_id', '=', domain_id)
    .where('alias_folded', '=', alias_folded)
    .where('account_id', '=', account),
)

/** The links with this alias, one on each domain that has it. */
export const selectOfAlias = statement(
  (db: Kysely<Tables>, { account, alias_folded, limit }: Omit<Named, 'domain_id'> & { readonly limit: number }) =>
    db
      .selectFrom('links')
      .innerJoin('domains', 'domains.id', 'links.domain_id')
      .select(['links.id', 'domains.name as domain_name'])
      .where('links.account_id', '=', account)
      .where('domains.account_id', '=', account)
      .where('links.alias_folded', '=', alias_folded)
      .orderBy('links.id')
      .limit(limit),
)

/** Counts the links of the account's domains or spaces with these ids, each up to `countedAtMost`. */
export function countIn(owners: 'domains' | 'spaces', column: 'domain_id' | 'space_id') {
  const links = sql`select 1 from links where account_id = ${sql.ref(`${owners}.account_id`)}
    and ${sql.ref(column)} = ${sql.ref(`${owners}.id`)} limit ${sql.lit(countedAtMost)}`
  return statement((db: Kysely<Tables>, of: { account: number } & Owners) =>
    db
      .selectFrom(owners)
      .select(['id', sql<number>`(select count(*) from (${links}) as counted)`.as('links')])
      .where('account_id', '=', of.account)
      .where('id', 'in', ownersIn(of)),
  )
}

/** Whether the state of any of the account's links may have changed by itself since it was stored. */
export const selectDue = statement((db: Kysely<Tables>, { account, now }: { account: number; now: string }) =>
  db.selectFrom('links').select('id').where('account_id', '=', account).where('status_due_at', '<=', now).limit(1),
)

/** Rows whose state is brought up to date by one statement, so that no request waits for it. */
export const settledAtOnce = 200

/** The state at the time `now` of links whose state may have changed by itself since it was stored. */
export const settleDue = statement((db: Kysely<Tables>, { account, now }: { account: number; now: string }) => {
  const isOver = sql`active_period_end_at <= ${now} or ${sql.raw(clicks)} >= clicks_limit`
  return db
    .updateTable('links')
    .set({
      status: sql`case when disabled = 1 then 'disabled' when ${isOver} then 'expired'
        when active_period_start_at > ${now} then 'scheduled' else 'active' end`,
      status_due_at: sql`case when disabled = 1 or ${isOver} then null
        when active_period_start_at > ${now} then active_period_start_at else active_period_end_at end`,
    })
    .where('account_id', '=', account)
    .where('id', 'in', (due) =>
      due
        .selectFrom('links')
        .select('id')
        .where('account_id', '=', account)
        .where('status_due_at', '<=', now)
        .orderBy('status_due_at')
        .limit(settledAtOnce),
    )
    .returning('id')
})
