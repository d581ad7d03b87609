/** The export of links. */

import { describeExport, exportFormat, exportRoute, readInBatches } from '../api/exports.ts'
import type { Operation } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { form } from '../forms/form.ts'
import { toPageRequest } from '../forms/list-query.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { PageRequest, Storage } from '../storage/port.ts'
import { linkFilters, listLinksQuery } from './filters.ts'
import { listLinks } from './link-list.ts'
import { linkOperations } from './operations.ts'
import { type Link, type LinkRow, linkOf, linkSchema, textOf } from './schema.ts'

export const exportQuery = form({
  format: exportFormat,
  search: listLinksQuery.fields.search,
  search_by: listLinksQuery.fields.search_by,
  ...linkFilters,
})

export const exportLinks: Operation = describeExport({
  id: 'exportLinks',
  path: '/links/export',
  tag: linkOperations.list.tag,
  summary: 'Export links',
  description:
    'Downloads all links that match, in ascending order of `id`, as a file of any length. The first row of `csv` has the names of the fields. Null is an empty cell, and `tags` has commas between the names. A cell that a spreadsheet could run as a formula starts with an apostrophe, which `POST /links/bulk` removes. If the export fails midway, the server closes the connection before the end of the body.',
  scope: 'links:read',
  query: exportQuery,
  refused: { format: 'xlsx', status: 'lost' },
})

/** Adds `GET /links/export`. */
export function linkExportRoute(api: Api, storage: Storage, shortUrl: ShortUrl, downloads: Semaphore): void {
  exportRoute(api, exportLinks, downloads, {
    query: exportQuery,
    name: 'links',
    fields: Object.keys(linkSchema.properties),
    read: async (account, { format: _, ...filters }) => {
      const list = { ...filters, sort_by: 'id', sort: 'asc', per_page: 1, page: null, after: null } as const
      return linkBatches(storage, account, toPageRequest(list, resources.links))
    },
    format: (row: LinkRow, now) => linkOf(row, shortUrl, now),
    cell: (value: Link[keyof Link]) => (typeof value === 'number' ? value : textOf(value)),
  })
}

/** Yields the account's links that match, as `readInBatches` does. */
export function linkBatches(
  storage: Storage,
  account: number,
  request: PageRequest,
  maxPause?: number,
): AsyncGenerator<readonly LinkRow[]> {
  return readInBatches((page) => listLinks(storage, account, page), request, maxPause)
}
