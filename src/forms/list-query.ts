import type { Resource } from '../resources.ts'
import type { GroupIds, PageRequest } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type Field, type Form, form, optional, type Rule } from './form.ts'
import { Type } from './json-schema.ts'
import { integer, oneOf } from './rules.ts'

const maxSearch = 255

const searchText = (searchesWords: boolean): Rule<string> => ({
  schema: Type.String({
    maxLength: maxSearch,
    description: searchesWords
      ? 'The words to find, case-insensitive and in any order. Each can be part of a longer word. A short URL finds only its link.'
      : 'The text to find, case-insensitive. `%`, `_` and `\\` are ordinary characters.',
  }),
  parse: (text) => ([...text].length <= maxSearch ? text : new Refusal('too_long', { most: maxSearch })),
})

/** The number of rows on a page. */
export const pageSize = oneOf([10, 25, 50, 100], 'Records per page.')

const pageNumber = integer({
  default: 1,
  description: 'The number of the page, from 1. Pages are for people who browse a list; programs should use `after`.',
})

const lastSeen = integer({
  description:
    'The id of the last record that you have read. The list continues with the next record. Concurrent changes never repeat or skip a record. Only with `sort_by=id`, and not with `page`.',
})

/** The parameters of every list. */
export interface PageQuery {
  readonly sort_by: string
  readonly sort: 'desc' | 'asc'
  readonly per_page: number
  /** Null for the first page, if the parameter is absent. */
  readonly page: number | null
  readonly after: number | null
}

export interface ListQuery extends PageQuery {
  readonly search: string | null
  readonly search_by: string
}

/** The filters of a list: a field for each column in `Resource.filters`. Undefined values do not filter. */
type Filters = Readonly<Record<string, Field<string | number | readonly number[] | null | undefined>>>

const recentClicks = '`clicks_30d` counts human clicks today and on the 29 days before, in the account’s time zone.'

/** Returns the form of list parameters. `sortNote` is a sentence about the sort orders. */
export function createListQuery(
  { searched, sorts, searchesWords = false }: Resource,
  filters: Filters = {},
  sortNote?: string,
): Form<ListQuery> {
  const searchable = [...(Object.keys(searched).length > 1 ? ['any'] : []), ...Object.keys(searched)]
  const order = [
    'The field to sort by. Ids are in the order of creation.',
    ...('clicks_30d' in sorts ? [recentClicks] : []),
    ...(sortNote === undefined ? [] : [sortNote]),
  ].join(' ')
  const fields = {
    search: optional(searchText(searchesWords), null),
    search_by: optional(oneOf(searchable, 'The field to search.'), searchable[0] as string),
    ...pageFields(Object.keys(sorts), order),
    ...filters,
  }
  return form<ListQuery>(fields, [], pageConflicts) as Form<ListQuery>
}

/** Returns the fields of `PageQuery`. `sorts` are the orders other than by id, and `order` describes them all. */
export function pageFields(sorts: readonly string[], order: string) {
  return {
    sort_by: optional(oneOf(['id', ...sorts], order), 'id'),
    sort: optional(oneOf(['desc', 'asc'], 'The sort order: descending or ascending.'), 'desc'),
    per_page: optional(pageSize, 10),
    page: optional(pageNumber, null),
    after: optional(lastSeen, null),
  }
}

/** The values of a flag in the database; other words do not filter. */
const flags: Readonly<Record<string, number>> = { true: 1, false: 0 }

/** Returns the page to read from storage. With `after`, it has one more record, which shows whether there is a next page. */
export function toPageRequest(query: ListQuery, resource: Resource): PageRequest {
  const { filters, searched, searchesWords, groups = {}, archived } = resource
  const { search, search_by } = query
  const given: Readonly<Record<string, unknown>> = { ...query }
  const filter = filters.flatMap((column) => {
    const value = column === archived?.column ? flags[String(given[column])] : given[column]
    return value === undefined ? [] : [[column, value as string | number | null] as const]
  })
  const named = Object.keys(groups).flatMap((name) => {
    const ids = given[name] as readonly number[] | undefined
    return ids === undefined ? [] : [[name, ids.map((id): GroupIds => [id])] as const]
  })
  return {
    search: search === null ? [] : searchesWords ? [...new Set(search.split(/\s+/))] : [search],
    searchIn: searched[search_by] === undefined ? Object.keys(searched) : [search_by],
    filter: Object.fromEntries(filter),
    ...(named.length > 0 && { groups: Object.fromEntries(named) }),
    ...(typeof given.alias === 'string' && { alias: given.alias }),
    ...toPage(query),
  }
}

/** Returns the part of a page request for the order and the page. */
export function toPage({ sort_by, sort, per_page, page, after }: PageQuery) {
  return {
    sortBy: sort_by,
    direction: sort,
    limit: after === null ? per_page : per_page + 1,
    // Offsets past 2^53-1 are past the end of any list.
    offset: Math.min(((page ?? 1) - 1) * per_page, Number.MAX_SAFE_INTEGER),
    after,
  }
}

/** Returns the violations of `after` with a page or another order. */
export function pageConflicts({ after, page, sort_by }: PageQuery): Violation[] {
  if (after === null) return []
  const violations: Violation[] = []
  if (page !== null) violations.push(new Refusal('not_allowed.page').at('after'))
  if (sort_by !== 'id') violations.push(new Refusal('not_allowed.order').at('after'))
  return violations
}
