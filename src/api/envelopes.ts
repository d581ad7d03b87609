import { hash } from 'node:crypto'
import type { PageQuery } from '../forms/list-query.ts'
import { addEntityTag, type Condition } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { addHeader, type Sent, sendJson, sendNotModified } from '../http/response.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Page } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import type { Warning } from '../warnings.ts'

/** Sends a record with its ETag, or 304 if the client of a GET has this version. */
export function sendRecord<Row>(
  exchange: Exchange,
  { record, version }: Versioned<Row>,
  condition: Condition | null = null,
  warnings: readonly Warning[] = [],
): Sent {
  if (addEntityTag(exchange, version, condition)) return sendNotModified(exchange)
  return sendJson(exchange, 200, recordText(record, warnings))
}

/** Returns the JSON of a record, with the warnings about it in `meta`, if there are any. */
export function recordText(record: unknown, warnings: readonly Warning[]): string {
  return JSON.stringify({ data: record, ...(warnings.length > 0 && { meta: { warnings } }) })
}

/**
 * Sends a page: rows, links to other pages, and the position with `meta`. `path` is the absolute URL of the list. The ETag
 * is a hash of the content. Rows after an id have ids.
 */
export function sendPage<Row>(
  exchange: Exchange,
  query: NumberedPage,
  page: Page<Row>,
  { path, condition, meta }: { readonly path: string; readonly condition: Condition | null; readonly meta?: object },
): Promise<Sent> {
  const pageOf = query.after === null ? numberedPage : pageAfter
  const { data, links, position } = pageOf(exchange, query, page, path)
  const counts = { total: page.total, total_is_exact: page.totalIsExact }
  return sendContent(exchange, { data, links, meta: { ...position, ...counts, ...meta } }, condition)
}

/** Sends JSON with a hash of its content as the ETag, or 304. The content's `links` also become the `Link` header. */
export async function sendContent(
  exchange: Exchange,
  content: { readonly data: unknown; readonly meta?: object; readonly links?: Links },
  condition: Condition | null,
): Promise<Sent> {
  const text = await formatJson(content)
  const isKnown = addEntityTag(exchange, hash('sha1', text, 'base64url'), condition)
  if (content.links) addHeader(exchange, 'link', linkHeader(content.links))
  return isKnown ? sendNotModified(exchange) : sendJson(exchange, 200, text)
}

/** Returns the JSON of an object. Many rows are written one by one, because a hundred of them can have megabytes. */
async function formatJson(content: { readonly data: unknown }): Promise<string> {
  if (!Array.isArray(content.data) || content.data.length <= rowsAtOnce) return JSON.stringify(content)
  const { data, ...others } = content
  const ticks = new Ticks()
  const rows: string[] = []
  for (const row of data as unknown[]) {
    rows.push(JSON.stringify(row))
    await ticks.next()
  }
  const rest = JSON.stringify(others)
  return `{"data":[${rows.join()}]${rest === '{}' ? '' : ','}${rest.slice(1)}`
}

const rowsAtOnce = 25

type NumberedPage = Pick<PageQuery, 'per_page' | 'page' | 'after'>

interface Links {
  readonly first: string
  readonly last: string | null
  readonly prev: string | null
  readonly next: string | null
}

/** Returns the rows, links and position of a page with a number. */
function numberedPage<Row>(
  exchange: Exchange,
  { per_page, page: given }: NumberedPage,
  found: Page<Row>,
  path: string,
) {
  const { rows, rowsBefore = rows.length, total, totalIsExact } = found
  const page = given ?? 1
  const last = Math.max(1, Math.ceil(total / per_page))
  const hasNext = totalIsExact ? page < last : rowsBefore === per_page
  const before = rows.length > 0 ? page - 1 : Math.min(page - 1, last)
  const stem = `${path}?${queryWithout(exchange, 'page')}page=`
  const links = {
    first: `${stem}1`,
    last: stem + last,
    prev: before > 0 ? stem + before : null,
    next: hasNext ? `${stem}${page + 1}` : null,
  }
  const from = rows.length === 0 ? null : (page - 1) * per_page + 1
  const to = from === null ? null : from + rows.length - 1
  const position = { current_page: page, from, last_page: last, path, per_page, to }
  return { data: rows, links, position }
}

/** Returns the rows, links and position of a page after a record. `rows` has one more row if there is a next page. */
function pageAfter<Row>(exchange: Exchange, { per_page }: NumberedPage, { rows }: Page<Row>, path: string) {
  const data = rows.slice(0, per_page)
  const query = queryWithout(exchange, 'after')
  const next = rows.length > per_page ? `${path}?${query}after=${(data.at(-1) as { readonly id: number }).id}` : null
  const first = query === '' ? path : `${path}?${query.slice(0, -1)}`
  const position = { current_page: null, from: null, last_page: null, path, per_page, to: null }
  return { data, links: { first, last: null, prev: null, next }, position }
}

/** Returns the query of the request without one parameter. Values are trimmed to limit the length of the Link header. */
function queryWithout(exchange: Exchange, without: string): string {
  const fields = exchange.query
  let query = ''
  for (const name in fields) {
    if (name !== without) query += `${name}=${encodeURIComponent(String(fields[name]).trim())}&`
  }
  return query
}

/** RFC 8288 §3. */
function linkHeader({ first, last, prev, next }: Links): string {
  const links = Object.entries({ first, prev, next, last }).filter(([, url]) => url !== null)
  return links.map(([rel, url]) => `<${url}>; rel="${rel}"`).join(', ')
}
