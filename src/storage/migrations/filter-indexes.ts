/** The filters that are often combined with `archived`, by which lists leave out links. */
const columns = ['domain_id', 'space_id', 'status']

/** Adds `archived` to the indexes of filters, so that lists count matches without reading the links. */
export function filterIndexes(): string[] {
  return columns.flatMap((column) => [
    `drop index links_by_${column}`,
    `create index links_by_${column} on links (account_id, ${column}, id, archived)`,
  ])
}
