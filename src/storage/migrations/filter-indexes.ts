/** The filters that are often combined with `archived`, by which lists leave out links. */
const columns = ['domain_id', 'space_id', 'status']

/** Adds `archived` to the indexes of filters, so that lists count matches without reading the links. */
export function filterIndexes(): string[] {
  return columns.flatMap((column) => [
    `drop index links_by_${column}`,
    `create index links_by_${column} on links (account_id, ${column}, id, archived)`,
  ])
}

/** Adds `archived` to the index of aliases, so that lists skip to a deep page without reading the links. */
export function aliasOrder(): string[] {
  return ['drop index links_by_alias', 'create index links_by_alias on links (account_id, alias_folded, id, archived)']
}
