/** Exports of links: files of any length, which are read in batches while the client reads them. */

import { setImmediate as nextTick, setTimeout as wait } from 'node:timers/promises'
import type { Operation } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { Failure } from '../errors.ts'
import { form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { toPageRequest } from '../forms/list-query.ts'
import { oneOf } from '../forms/rules.ts'
import { rejectIfMatch } from '../http/conditions.ts'
import { formatDisposition, sendParts } from '../http/response.ts'
import { csvRow } from '../lib/csv.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { Ticks } from '../lib/ticks.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { PageRequest, Storage } from '../storage/port.ts'
import { linkFilters, listLinksQuery } from './filters.ts'
import { listLinks } from './link-list.ts'
import { linkOperations } from './operations.ts'
import { type Link, type LinkRow, linkOf, linkSchema, textOf } from './schema.ts'

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
        'content-disposition': formatDisposition('attachment', `waymark-links-${day}.${format}`),
      })
    }
    return downloads.run(sendFile, String(account))
  })
}

/** The links that are read together: few enough for a short event-loop tick. */
const batchSize = 100

/**
 * Yields the account's links that match, by id in the direction of the request: only ids keep their order while others store
 * links. The first batch may be empty. If the event loop is busy, pauses after each batch up to `maxPause` times as long as
 * the batch took, so that redirects stay fast.
 */
export async function* linkBatches(
  storage: Storage,
  account: number,
  request: PageRequest,
  maxPause = 5,
): AsyncGenerator<readonly LinkRow[]> {
  const isAscending = request.direction === 'asc'
  const page = { ...request, sortBy: 'id', offset: 0, limit: batchSize } as const
  let after = isAscending ? 0 : Number.MAX_SAFE_INTEGER
  let busy = 0
  for (;;) {
    const start = performance.now()
    const { rows } = await listLinks(storage, account, { ...page, after })
    yield rows
    if (rows.length < batchSize) return
    after = (rows.at(-1) as LinkRow).id
    const took = Math.min(maxBatchMs, performance.now() - start)
    const before = performance.eventLoopUtilization()
    const pause = took * busy * maxPause
    // A timer takes at least a millisecond.
    await (pause < 1 ? nextTick() : wait(pause))
    busy = performance.eventLoopUtilization(before).utilization
  }
}

/** A slow client does not lengthen the pause. Milliseconds. */
const maxBatchMs = 100

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
  const ticks = new Ticks()
  let text: string = head
  let links = 0
  for await (const rows of linkBatches(storage, account, toPageRequest(list, resources.links))) {
    const now = new Date().toISOString()
    for (const row of rows) {
      text += lineOf(linkOf(row, shortUrl, now))
      await ticks.next()
    }
    yield text
    text = ''
    links += rows.length
  }
  return { links }
}

function csvLine(link: Link): string {
  return csvRow(Object.values(link).map((value) => (typeof value === 'number' ? value : textOf(value))))
}
