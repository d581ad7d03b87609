/**
 * The SQL of domains, for every engine; `store.ts` says what it is for.
 */
import { type Generated, type Kysely, sql } from 'kysely'
import { recordsOf } from '../storage/records.ts'
import { type Removal, takenOffAtOnce } from '../storage/removal.ts'
import { insertion, statement } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import type { Domain } from './schema.ts'

interface DomainsTable extends Omit<Domain, 'id'> {
  id: Generated<number>
  account_id: number
  /** The folded forms of the name, a line feed between them; null if the name is its only form. */
  search_text: string | null
  revision: number
}

/** What domains know of the links on them. */
interface LinksTable {
  id: number
  account_id: number
  domain_id: number
  alias_folded: string
}

type Tables = { domains: DomainsTable; links: LinksTable }

export const domains = recordsOf<Domain>(
  'domains',
  ['id', 'name', 'name_unicode', 'homepage_url', 'not_found_url', 'created_at', 'updated_at'],
  ['homepage_url', 'not_found_url'],
)

export const selectByName = statement((db: Kysely<Tables>, { account, name }: { account: number; name: string }) =>
  db.selectFrom('domains').select(domains.columns).where('name', '=', name).where('account_id', '=', account),
)

interface Insert extends Omit<DomainsTable, 'id' | 'account_id' | 'revision'> {
  account: number
}

/**
 * Returns no row if the name is taken. The unique index decides; but on some engines a row that it refuses uses up an id,
 * so the statement looks for the name first.
 */
export const insert = insertion((db: Kysely<Tables>, domain: Insert) =>
  db
    .insertInto('domains')
    .columns([
      ...(['account_id', 'name', 'name_unicode', 'search_text'] as const),
      ...(['homepage_url', 'not_found_url', 'created_at', 'updated_at', 'revision'] as const),
    ])
    .expression(
      db
        .selectNoFrom((e) => [
          e.val(domain.account).as('account_id'),
          e.val(domain.name).as('name'),
          e.val(domain.name_unicode).as('name_unicode'),
          e.val(domain.search_text).as('search_text'),
          e.val(domain.homepage_url).as('homepage_url'),
          e.val(domain.not_found_url).as('not_found_url'),
          e.val(domain.created_at).as('created_at'),
          e.val(domain.updated_at).as('updated_at'),
          e.val(firstRevision).as('revision'),
        ])
        .where((e) => e.not(e.exists(db.selectFrom('domains').select('id').where('name', '=', domain.name)))),
    )
    .onConflict((conflict) => conflict.column('name').doNothing()),
)

interface Own {
  readonly account: number
  readonly id: number
}

/** The name is free from then on; with a slash in it, no visitor can ask for it. */
export const takeOut = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db
    .updateTable('domains')
    .set({ account_id: 0, name: sql`name || '/' || cast(id as text)` })
    .where('id', '=', id)
    .where('account_id', '=', account)
    .returning('id'),
)

export const removal: Removal = {
  // In the order of an index: without, PostgreSQL reads past all that was deleted before, each time.
  takeLinksOff: statement((db: Kysely<Tables>, { id }: { id: number; now: string }) =>
    db
      .deleteFrom('links')
      .where('id', 'in', (some) =>
        some.selectFrom('links').select('id').where('domain_id', '=', id).orderBy('alias_folded').limit(takenOffAtOnce),
      )
      .where((e) => e.exists(db.selectFrom('domains').select('id').where('id', '=', id).where('account_id', '=', 0)))
      .returning('id'),
  ),
  selectLink: statement((db: Kysely<Tables>, { id }: { id: number }) =>
    db.selectFrom('links').select('id').where('domain_id', '=', id).limit(1),
  ),
  deleteOut: statement((db: Kysely<Tables>, { id }: { id: number }) =>
    db.deleteFrom('domains').where('id', '=', id).where('account_id', '=', 0).returning('id'),
  ),
  selectOut: statement((db: Kysely<Tables>) => db.selectFrom('domains').select('id').where('account_id', '=', 0)),
}

/** Links that are counted at once: some milliseconds. */
export const countedAtOnce = 50_000

interface Counting extends Own {
  /** The last link that has been counted. */
  readonly after: number
}

/** Counts the next links of the domain, and tells the last of them. */
export const countLinks = statement((db: Kysely<Tables>, { account, id, after }: Counting) =>
  db
    .selectFrom((next) =>
      next
        .selectFrom('links')
        .select('id')
        .where('account_id', '=', account)
        .where('domain_id', '=', id)
        .where('id', '>', after)
        .orderBy('id')
        .limit(countedAtOnce)
        .as('some'),
    )
    .select((e) => [e.fn.countAll<number>().as('counted'), e.fn.max('id').as('last')]),
)
