import { oneOf } from '../api/choice.ts'
import { form, optional, type Rule, required } from '../api/fields.ts'
import { integerUpTo } from '../api/integer.ts'
import { type TSchema, Type } from '../api/json-schema.ts'
import { pageNumber, pageSize } from '../api/list-query.ts'
import type { Violation } from '../errors.ts'
import { defaultDays, type Interval, intervals, maxDays, maxDaysByHour, parseDay, rangeFaults } from './day-range.ts'

const names = [
  ...(['clicks', 'countries', 'referrers', 'browsers', 'operating_systems', 'devices', 'languages'] as const),
  ...(['classes', 'links'] as const),
]

export interface StatsQuery {
  readonly name: (typeof names)[number]
  readonly link_id: number | null
  readonly domain_id: number | null
  readonly space_id: number | null
  /** A day, as all are in `day-range.ts`; null if it was not given, like all that follow but `sort`. */
  readonly from: number | null
  readonly to: number | null
  readonly interval: Interval | null
  readonly sort_by: 'clicks' | 'value' | null
  readonly sort: 'desc' | 'asc' | null
  readonly per_page: number | null
  readonly page: number | null
}

const reference = (description: string): Rule<number> => ({
  schema: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description }),
  parse: (text, label) => integerUpTo(Number.MAX_SAFE_INTEGER, text, label),
})

const day = (description: string): Rule<number> => ({
  schema: Type.String({ format: 'date', description }),
  parse: parseDay,
})

/** The default is told in the documents, but what was not given is null: only some of the names take it. */
function byDefault<T>(rule: Rule<T>, value: T): Rule<T> {
  return { ...rule, schema: { ...rule.schema, default: value } as TSchema }
}

/** What the lists take, and the clicks over time do not. */
const ofLists = ['sort_by', 'sort', 'per_page', 'page'] as const
const references = ['link_id', 'domain_id', 'space_id'] as const

export const statsQuery = form<StatsQuery>(
  {
    name: required(
      oneOf(names, 'What to tell: the clicks over time, or what people, or all classes of clicks, are broken down by.'),
    ),
    link_id: optional(
      reference('Only clicks of this link. At most one of `link_id`, `domain_id` and `space_id`.'),
      null,
    ),
    domain_id: optional(reference('Only clicks of links on this domain.'), null),
    space_id: optional(reference('Only clicks of links that are in this space.'), null),
    from: optional(day(`The first day, in UTC. Without it, ${defaultDays} days up to \`to\`.`), null),
    to: optional(
      day(
        `The last day, in UTC; at most ${maxDays} days, or ${maxDaysByHour} by hour. Without it, today, or as many days after \`from\` as are allowed.`,
      ),
      null,
    ),
    interval: optional(byDefault(oneOf(intervals, 'What each bucket of `name=clicks` spans.'), 'day'), null),
    sort_by: optional(byDefault(oneOf(['clicks', 'value'], 'What the values are sorted by.'), 'clicks'), null),
    sort: optional(byDefault(oneOf(['desc', 'asc'], 'The direction: descending or ascending.'), 'desc'), null),
    per_page: optional(byDefault(pageSize, 10), null),
    page: optional(pageNumber('The page, counted from 1.'), null),
  },
  [],
  (query) => [...referenceFaults(query), ...rangeFaults(query), ...foreignTo(query)],
)

/** Each of several references is at fault. */
function referenceFaults(query: StatsQuery): Violation[] {
  const given = references.filter((name) => query[name] !== null)
  if (given.length < 2) return []
  const message = (field: string) =>
    `The ${field} cannot be sent together with ${given.filter((name) => name !== field).join(' and ')}: send one of them.`
  return given.map((field) => ({ field, code: 'not_allowed', message: message(field) }))
}

/** The parameters that do not go with the name. */
function foreignTo(query: StatsQuery): Violation[] {
  const isSeries = query.name === 'clicks'
  const foreign = (isSeries ? ofLists : (['interval'] as const)).filter((name) => query[name] !== null)
  const wayOut = isSeries ? 'Leave it out, or send another name.' : 'Leave it out, or send name=clicks.'
  return foreign.map((field) => ({
    field,
    code: 'not_allowed',
    message: `The ${field} does not go with name=${query.name}. ${wayOut}`,
  }))
}
