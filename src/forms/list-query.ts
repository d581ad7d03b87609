import type { Resource } from '../resources.ts'
import type { PageRequest } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type Field, type Form, form, optional, type Rule } from './form.ts'
import { Type } from './json-schema.ts'
import { integer, notAllowed, oneOf } from './rules.ts'

const pageSizes = [10, 25, 50, 100] as const
const maxSearch = 255

const searchText = (searchesWords: boolean): Rule<string> => ({
  schema: Type.String({
    maxLength: maxSearch,
    description: searchesWords
      ? 'Words to find, in any case and order. Each may be a part of a longer word. A short URL finds exactly its link.'
      : 'Text to find, in any case; `%`, `_` and `\\` are ordinary characters.',
  }),
  parse: (text) => ([...text].length <= maxSearch ? text : new Refusal('too_long', { most: maxSearch })),
})

/** The number of rows on a page. */
export const pageSize: Rule<number> = {
  schema: Type.Enum([...pageSizes], { description: 'Results per page.' }),
  parse: (text) => pageSizes.find((size) => String(size) === text) ?? notAllowed(pageSizes),
}

const pageNumber = integer({
  default: 1,
  description: 'The page, counted from 1. Use it for people who browse a list; `after` is for programs.',
})

const lastSeen = integer({
  description:
    'The id of the last record you have seen: the list goes on with the records that follow it. Use it to read a whole list: no record comes twice or is missed while others write. With `sort_by=id` only, and not together with `page`.',
})

export interface ListQuery {
  readonly search: string | null
  readonly search_by: string
  readonly sort_by: string
  readonly sort: 'desc' | 'asc'
  readonly per_page: number
  /** Null for the first page, if the parameter is absent. */
  readonly page: number | null
  readonly after: number | null
}

/** The filters of a list: a field for each column in `Resource.filters`. Undefined values do not filter. */
export type Filters = Readonly<Record<string, Field<string | number | null | undefined>>>

/** Returns the form of list parameters. */
export function listQueryOf(
  { searched, sorts, searchesWords = false }: Resource,
  filters: Filters = {},
): Form<ListQuery> {
  const searchable = [...(Object.keys(searched).length > 1 ? ['any'] : []), ...Object.keys(searched)]
  const fields = {
    search: optional(searchText(searchesWords), null),
    search_by: optional(oneOf(searchable, 'The field that is searched.'), searchable[0] as string),
    sort_by: optional(oneOf(['id', ...Object.keys(sorts)], 'The field sorted by: `id` is the date of creation.'), 'id'),
    sort: optional(oneOf(['desc', 'asc'], 'The direction: descending or ascending.'), 'desc'),
    per_page: optional(pageSize, 10),
    page: optional(pageNumber, null),
    after: optional(lastSeen, null),
    ...filters,
  }
  return form<ListQuery>(fields, [], conflictsOf) as Form<ListQuery>
}

/** Returns the page to read from storage. With `after`, it has one more record, which shows whether there is a next page. */
export function pageRequestOf(query: ListQuery, { filters, searched, searchesWords }: Resource): PageRequest {
  const { search, search_by, sort_by, sort, per_page, page, after } = query
  const given = query as unknown as Readonly<Record<string, string | number | null | undefined>>
  const filter = filters.filter((column) => given[column] !== undefined).map((column) => [column, given[column]])
  return {
    search: search === null ? [] : searchesWords ? [...new Set(search.split(/\s+/))] : [search],
    searchIn: searched[search_by] === undefined ? Object.keys(searched) : [search_by],
    filter: Object.fromEntries(filter),
    sortBy: sort_by,
    direction: sort,
    limit: after === null ? per_page : per_page + 1,
    // Offsets past 2^53-1 are past the end of any list.
    offset: Math.min(((page ?? 1) - 1) * per_page, Number.MAX_SAFE_INTEGER),
    after,
  }
}

function conflictsOf({ after, page, sort_by }: ListQuery): Violation[] {
  if (after === null) return []
  const violations: Violation[] = []
  if (page !== null) violations.push(new Refusal('not_allowed.page').at('after'))
  if (sort_by !== 'id') violations.push(new Refusal('not_allowed.order').at('after'))
  return violations
}
