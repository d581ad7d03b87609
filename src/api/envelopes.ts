import { Failure, notFound } from '../errors.ts'
import { addHeader, sendJson } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Page } from '../storage/port.ts'
import { positiveInteger } from './integer.ts'
import type { ListQuery } from './list-query.ts'

/** A record, or `not_found`. */
export function found<T>(record: T | undefined, what: string): T {
  if (record === undefined) throw notFound(what)
  return record
}

/** The `{id}` of the path. Throws `not_found` for anything that cannot be an id. */
export function idOf({ params: { id = '' } }: Exchange, what: string): number {
  if (id === '')
    throw new Failure('not_found', `The path has no id: leave out the slash at its end, or name a ${what}.`)
  return found(positiveInteger(id), what)
}

/** Sends one page of the list at the absolute URL `path`: the records, links to its neighbours, and where it stands. */
export function sendPage<Row>(
  exchange: Exchange,
  query: ListQuery,
  { rows, total, totalIsExact }: Page<Row>,
  path: string,
): void {
  const last = Math.max(1, Math.ceil(total / query.per_page))
  const isFull = rows.length === query.per_page
  const hasNext = totalIsExact ? query.page < last : isFull
  const before = rows.length > 0 ? query.page - 1 : Math.min(query.page - 1, last)
  const stem = path + givenQuery(exchange.query as Fields)
  const links = {
    first: `${stem}1`,
    last: stem + last,
    prev: before > 0 ? stem + before : null,
    next: hasNext ? `${stem}${query.page + 1}` : null,
  }
  const from = (query.page - 1) * query.per_page + 1
  addHeader(exchange, 'link', linkHeader(links))
  const meta = {
    current_page: query.page,
    from: rows.length === 0 ? null : from,
    last_page: last,
    path,
    per_page: query.per_page,
    to: rows.length === 0 ? null : from + rows.length - 1,
    total,
    total_is_exact: totalIsExact,
  }
  sendJson(exchange, 200, JSON.stringify({ data: rows, links, meta }))
}

/** The query parameters that were given, but for the page; trimmed, so that no header grows out of blanks. */
function givenQuery(query: Fields): string {
  let given = '?'
  for (const name in query) {
    if (name !== 'page') given += `${name}=${encodeURIComponent(String(query[name]).trim())}&`
  }
  return `${given}page=`
}

/** RFC 8288 §3. */
function linkHeader(links: { first: string; last: string; prev: string | null; next: string | null }): string {
  let header = `<${links.first}>; rel="first"`
  if (links.prev !== null) header += `, <${links.prev}>; rel="prev"`
  if (links.next !== null) header += `, <${links.next}>; rel="next"`
  return `${header}, <${links.last}>; rel="last"`
}
