/**
 * The table of resources: what every layer must know of each, said once. Scopes, lists, search indexes, exports and the
 * documents are made from it. It is data alone, so that any room may read it.
 */

/** A column of a table that has a row for each record of a resource, and names the record in its column `key`. */
export interface SideColumn {
  readonly table: string
  readonly column: string
  readonly key: string
}

/** What a resource is to the layers below its own folder. */
export interface Resource {
  /** One of them, in sentences: `domain`. */
  readonly singular: string
  /**
   * What lists may be sorted by beside `id`, and the column that is compared, by code point: NOT NULL, since engines order
   * nulls differently. Each has an index on (`account_id`, column, `id`), named `<resource>_by_<sort>`; that on
   * (`account_id`, `id`) is `<resource>_by_account`. What changes more often than the records do stands in a side table,
   * whose index on (`account_id`, column, key) is named `<table>_by_<sort>`.
   */
  readonly sorts: Readonly<Record<string, string | SideColumn>>
  /** What can be searched, and SQL over the table's own columns for its case-folded text, which is null where there is none. */
  readonly searched: Readonly<Record<string, string>>
  /** The columns that lists may be filtered by. Each has an index on (`account_id`, column, `id`), `<resource>_by_<column>`. */
  readonly filters: readonly string[]
}

export const resources = {
  domains: {
    singular: 'domain',
    sorts: { name: 'name' },
    searched: { name: 'coalesce(search_text, name)' },
    filters: [],
  },
  spaces: {
    singular: 'space',
    sorts: { name: 'name_folded' },
    searched: { name: 'name_folded' },
    filters: [],
  },
  links: {
    singular: 'link',
    sorts: { alias: 'alias_folded', clicks: { table: 'link_clicks', column: 'clicks', key: 'link_id' } },
    searched: { alias: 'alias_folded', title: 'coalesce(title_folded, title)', url: 'coalesce(url_folded, url)' },
    filters: ['domain_id', 'space_id', 'status'],
  },
} as const satisfies Record<string, Resource>

/** The name of a resource, which is that of its table, its path and the stem of its scopes. */
export type ResourceName = keyof typeof resources

export const resourceNames = Object.keys(resources) as ResourceName[]
