/**
 * The table of resources, from which scopes, lists, search indexes, exports and the API documents are built.
 */
import { type ExportedKind, kinds } from './record-kinds.ts'

/** A column of a side table, which has one row per record. The column `key` has the record's id. */
export interface SideColumn {
  readonly table: string
  readonly column: string
  readonly key: string
}

/** A column by whose range lists are filtered. */
export interface RangeColumn {
  readonly column: string | SideColumn
  /** SQL for a condition that matches meet, too. Its index has only records that meet it. */
  readonly where?: string
  /** Whether the column has an index on (`account_id`, column, key), named as for `sorts`. */
  readonly isIndexed: boolean
}

/** A table with a row for each record and each group that has it. Its primary key is (group, `account_id`, key). */
export interface Groups {
  readonly table: string
  readonly group: string
  readonly key: string
}

/** Records that lists leave out by default. */
interface Archived {
  /** 1 for these records, otherwise 0. `filters` has it, too. */
  readonly column: string
  /** The key of their number in `record_counts`. */
  readonly count: string
}

/** The properties of a resource that other folders use. */
export interface Resource {
  /** The noun for one record, such as `domain`. */
  readonly singular: string
  /**
   * The sort orders of lists in addition to `id`, each with its column. Values are compared by code point, and are NOT NULL,
   * because engines order nulls differently. The index on (`account_id`, column, `id`, and the column of
   * `archived`) is named `<resource>_by_<sort>`, and the index on (`account_id`, `id`) is `<resource>_by_account`. Columns that change more often than the record are in a
   * side table, with an index on (`account_id`, column, key) named `<table>_by_<sort>`.
   */
  readonly sorts: Readonly<Record<string, string | SideColumn>>
  /** The searchable fields, each with the SQL expression for its case-folded text, which may be null. */
  readonly searched: Readonly<Record<string, string>>
  /** The searchable fields that are URLs. Their texts are those of `foldUrl`. */
  readonly searchedUrls?: readonly string[]
  /** Whether a search is split into words, which may match in any order. Otherwise it is one text. */
  readonly searchesWords?: boolean
  /** The filter columns of lists. Each has an index that starts with (`account_id`, column, `id`), `<resource>_by_<column>`. */
  readonly filters: readonly string[]
  /** The ranges by which lists are filtered, in addition to `filters`. A range and a sort order of one name have one column. */
  readonly ranges?: Readonly<Record<string, RangeColumn>>
  /** The groups by which lists are filtered. */
  readonly groups?: Readonly<Record<string, Groups>>
  readonly archived?: Archived
  /** Whether no trigger maintains its number in `record_counts`. Its records are then counted for each list, as with a filter. */
  readonly isUncounted?: boolean
}

/** 0 if there was no click. */
const lastClick: SideColumn = { table: 'link_clicks', column: 'clicked_ms', key: 'link_id' }

export const resources = {
  domains: {
    singular: 'domain',
    sorts: { name: 'name', clicks_30d: { table: 'domain_clicks', column: 'clicks_30d', key: 'id' } },
    searched: { name: 'coalesce(search_text, name)' },
    filters: [],
  },
  spaces: {
    singular: 'space',
    sorts: { name: 'name_folded', clicks_30d: { table: 'space_clicks', column: 'clicks_30d', key: 'id' } },
    searched: { name: 'name_folded' },
    filters: [],
  },
  tags: {
    singular: 'tag',
    sorts: { name: 'name_folded' },
    searched: { name: 'name_folded' },
    filters: [],
  },
  links: {
    singular: 'link',
    sorts: {
      alias: 'alias_folded',
      clicks: { table: 'link_clicks', column: 'clicks', key: 'link_id' },
      clicks_30d: { table: 'link_clicks', column: 'clicks_30d', key: 'link_id' },
      last_clicked_at: lastClick,
    },
    searched: { alias: 'alias_folded', title: 'coalesce(title_folded, title)', url: 'coalesce(url_folded, url)' },
    searchedUrls: ['url'],
    searchesWords: true,
    filters: ['domain_id', 'space_id', 'status', 'archived'],
    groups: { tag_id: { table: 'link_tags', group: 'tag_id', key: 'link_id' } },
    ranges: {
      end: { column: 'active_period_end_at', where: 'disabled = 0', isIndexed: true },
      last_clicked_at: { column: lastClick, isIndexed: true },
      created_at: { column: 'created_at', isIndexed: false },
    },
    archived: { column: 'archived', count: 'archived_links' },
  },
  members: {
    singular: 'member',
    sorts: { name: 'name_folded' },
    searched: { name: 'name_folded', email: 'coalesce(email_folded, email)' },
    filters: [],
    isUncounted: true,
  },
  invitations: {
    singular: 'invitation',
    sorts: {},
    searched: {},
    filters: [],
    ranges: { expires_at: { column: 'expires_at', isIndexed: false } },
    isUncounted: true,
  },
  imports: { singular: 'import', sorts: {}, searched: {}, filters: ['is_deleting'], isUncounted: true },
} as const satisfies Record<string, Resource>

type Resources = typeof resources
/** A resource with five operations whose records are exported: its table, its path, and the first part of its scopes. */
export type ResourceName = {
  [Name in keyof Resources]: Resources[Name]['singular'] extends ExportedKind ? Name : never
}[keyof Resources]

/** In the order in which an import stores them. */
export const resourceNames = (Object.keys(resources) as (keyof Resources)[]).filter(
  (name): name is ResourceName => kinds[resources[name].singular].isExported,
)
