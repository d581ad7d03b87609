/** Exports of links: files of any length, which are read in batches while the client reads them. */
import type { Operation } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { Failure } from '../errors.ts'
import { form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { pageRequestOf } from '../forms/list-query.ts'
import { oneOf } from '../forms/rules.ts'
import { rejectIfMatch } from '../http/conditions.ts'
import { dispositionOf, sendParts } from '../http/response.ts'
import { csvRow } from '../lib/csv.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import { batchSize, linkBatches } from './link-list.ts'
import { type Link, linkFilters, linkOf, linkOperations, linkSchema, listLinksQuery } from './schema.ts'

const formats = {
  csv: { type: 'text/csv; charset=utf-8', head: csvRow(Object.keys(linkSchema.properties)), lineOf: csvLine },
  jsonl: { type: 'application/x-ndjson', head: '', lineOf: (link: Link) => `${JSON.stringify(link)}\n` },
} as const

export const exportQuery = form({
  format: optional(oneOf(['csv', 'jsonl'], 'The format: a spreadsheet, or one JSON record per line.'), 'csv'),
  search: listLinksQuery.fields.search,
  search_by: listLinksQuery.fields.search_by,
  ...linkFilters,
})

type ExportQuery = Exclude<ReturnType<typeof exportQuery.check>, Failure>

export const exportLinks: Operation = {
  id: 'exportLinks',
  method: 'GET',
  path: '/links/export',
  tag: linkOperations.list.tag,
  summary: 'Export links',
  description:
    'Downloads all links that match, in ascending order of `id`, as a file of any length. The first row of `csv` has the names of the fields. Null is an empty cell, and `tags` has commas between the names. A cell that a spreadsheet could run as a formula starts with an apostrophe, which `POST /links/bulk` removes. If the export fails midway, the server closes the connection before the end of the body.',
  scope: 'links:read',
  query: exportQuery,
  refused: { format: 'xlsx', status: 'lost' },
  success: {
    status: 200,
    description: 'The file.',
    media: {
      'text/csv': { schema: Type.String() },
      'application/x-ndjson': {},
    },
    headers: ['Content-Disposition'],
  },
  failures: ['precondition_failed', 'validation_failed'],
}

/** Adds `GET /links/export`. */
export function linkExportRoute(api: Api, storage: Storage, shortUrl: ShortUrl, downloads: Semaphore): void {
  api.add(exportLinks, async (exchange, { actor: { account } }) => {
    rejectIfMatch(exchange)
    const query = exportQuery.check(exchange.query)
    if (query instanceof Failure) return query
    const sendFile = () => {
      const day = new Date().toISOString().slice(0, 10)
      const { format } = query
      return sendParts(exchange, linkFile(storage, account, query, shortUrl), {
        'content-type': formats[format].type,
        'content-disposition': dispositionOf('attachment', `waymark-links-${day}.${format}`),
      })
    }
    return downloads.run(sendFile, String(account))
  })
}

/**
 * Yields the file with the account's links that match, by id. Yields its header with the first batch, so that a failure of
 * that batch still gets its own response. Returns the number of links.
 */
export async function* linkFile(
  storage: Storage,
  account: number,
  { format, ...filters }: ExportQuery,
  shortUrl: ShortUrl,
): AsyncGenerator<string, { readonly links: number }> {
  const list = { ...filters, sort_by: 'id', sort: 'asc', per_page: batchSize, page: null, after: null } as const
  const { head, lineOf } = formats[format]
  let text: string = head
  let links = 0
  for await (const rows of linkBatches(storage, account, pageRequestOf(list, resources.links))) {
    const now = new Date().toISOString()
    yield rows.reduce((lines, row) => lines + lineOf(linkOf(row, shortUrl, now)), text)
    text = ''
    links += rows.length
  }
  return { links }
}

function csvLine(link: Link): string {
  // The text of an array has commas between its values.
  return csvRow(Object.values(link).map((value) => (value === null || typeof value === 'number' ? value : `${value}`)))
}
