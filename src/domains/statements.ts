/**
 * The SQL of domains, for every engine; `store.ts` says what it is for.
 */
import type { Generated, Kysely } from 'kysely'
import { insertion, statement, toChange } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import type { Domain } from './schema.ts'

interface DomainsTable extends Omit<Domain, 'id'> {
  id: Generated<number>
  account_id: number
  /** The folded forms of the name, a line feed between them; null when the name is its only form. */
  search_text: string | null
  /** Counts the states that the record has had. */
  revision: Generated<number>
}

type Tables = { domains: DomainsTable }

export const columns = [
  'id',
  'name',
  'name_unicode',
  'homepage_url',
  'not_found_url',
  'created_at',
  'updated_at',
] as const
const versionedColumns = [...columns, 'revision'] as const

export type DomainRow = Domain & { readonly revision: number }

interface Own {
  account: number
  id: number
}

export const byId = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('domains').select(versionedColumns).where('id', '=', id).where('account_id', '=', account),
)

export const byIdToChange = toChange(byId)

export const byName = statement((db: Kysely<Tables>, { account, name }: { account: number; name: string }) =>
  db.selectFrom('domains').select(columns).where('name', '=', name).where('account_id', '=', account),
)

interface Following {
  account: number
  after: number
  limit: number
}

export const following = statement((db: Kysely<Tables>, { account, after, limit }: Following) =>
  db
    .selectFrom('domains')
    .select(columns)
    .where('account_id', '=', account)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit),
)

interface Insert {
  account: number
  name: string
  name_unicode: string
  search_text: string | null
  homepage_url: string | null
  not_found_url: string | null
  created_at: string
  updated_at: string
}

// The index decides, but on some engines a row that it refuses uses up an id: one that is in the way is looked for first.
export const inserted = insertion((db: Kysely<Tables>, domain: Insert) =>
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

interface Change extends Own {
  /** 1 where the URL is to be set, 0 where it stays. */
  sets_homepage: number
  homepage_url: string | null
  sets_not_found: number
  not_found_url: string | null
  now: string
}

/** No row where nothing would change. */
export const changed = statement((db: Kysely<Tables>, change: Change) =>
  db
    .updateTable('domains')
    .set((e) => ({
      homepage_url: e
        .case()
        .when(e.val(change.sets_homepage), '=', 1)
        .then(change.homepage_url)
        .else(e.ref('homepage_url'))
        .end(),
      not_found_url: e
        .case()
        .when(e.val(change.sets_not_found), '=', 1)
        .then(change.not_found_url)
        .else(e.ref('not_found_url'))
        .end(),
      // Whoever waited for another's change does not set the record's time back.
      updated_at: e.case().when('updated_at', '>', change.now).then(e.ref('updated_at')).else(change.now).end(),
      revision: e('revision', '+', 1),
    }))
    .where('id', '=', change.id)
    .where('account_id', '=', change.account)
    .where((e) =>
      e.or([
        e.and([e(e.val(change.sets_homepage), '=', 1), e('homepage_url', 'is distinct from', change.homepage_url)]),
        e.and([e(e.val(change.sets_not_found), '=', 1), e('not_found_url', 'is distinct from', change.not_found_url)]),
      ]),
    )
    .returning(versionedColumns),
)

export const deleted = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.deleteFrom('domains').where('id', '=', id).where('account_id', '=', account).returning('id'),
)
