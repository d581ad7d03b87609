import { type Failure, Refusal } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Listing } from '../storage/port.ts'
import { form, optional, type Rule } from './fields.ts'
import { integerWithin, positiveInteger } from './integer.ts'
import { Type } from './json-schema.ts'

const pageSizes = [10, 25, 50, 100] as const
const longestSearch = 255

const searchText: Rule<string> = {
  schema: Type.String({
    maxLength: longestSearch,
    description: 'Part of the name, in any case; `%`, `_` and `\\` are ordinary characters.',
  }),
  parse: (text, label) =>
    [...text].length <= longestSearch
      ? text
      : new Refusal('too_long', `The ${label} must be at most ${longestSearch} characters long.`),
}

const pageSize: Rule<number> = {
  schema: Type.Enum([...pageSizes], { description: 'Results per page.' }),
  parse: (text, label) => {
    const size = positiveInteger(text)
    return pageSizes.find((allowed) => allowed === size) ?? notAllowed(label, pageSizes)
  },
}

const pageNumber: Rule<number> = {
  schema: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The page, counted from 1.' }),
  parse: (text, label) => integerWithin(text, 1, Number.MAX_SAFE_INTEGER, label),
}

/** The query parameters of every list. */
export const listQuery = form({
  search: optional(searchText, null),
  search_by: optional(oneOf(['name'], 'The field that is searched.'), 'name'),
  sort_by: optional(oneOf(['id', 'name'], 'The field sorted by: `id` is the date of creation.'), 'id'),
  sort: optional(oneOf(['desc', 'asc'], 'The direction: descending or ascending.'), 'desc'),
  per_page: optional(pageSize, 10),
  page: optional(pageNumber, 1),
})

export type ListQuery = Exclude<ReturnType<typeof listQuery.check>, Failure>

/** What storage is asked for. Offsets past 2^53-1 are past the end of any list. */
export function listingOf(query: ListQuery): Omit<Listing<never>, 'of' | 'account'> {
  return {
    search: query.search,
    sortBy: query.sort_by,
    direction: query.sort,
    limit: query.per_page,
    offset: Math.min((query.page - 1) * query.per_page, Number.MAX_SAFE_INTEGER),
  }
}

/** The query of a list, or `validation_failed`. */
export function checkListQuery(query: unknown): ListQuery | Failure {
  return listQuery.check(query as Fields)
}

function oneOf<const Value extends string>(allowed: readonly Value[], description: string): Rule<Value> {
  return {
    schema: Type.Enum([...allowed], { description }),
    parse: (text, label) => allowed.find((value) => value === text) ?? notAllowed(label, allowed),
  }
}

function notAllowed(label: string, allowed: readonly (string | number)[]): Refusal {
  return new Refusal(
    'not_allowed',
    `The ${label} must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}.`,
  )
}
