import type { Violation } from '../../errors.ts'
import { form, optional, type Rule, required } from '../../forms/form.ts'
import { type TSchema, Type } from '../../forms/json-schema.ts'
import { pageSize, positive } from '../../forms/list-query.ts'
import { oneOf } from '../../forms/rules.ts'
import { defaultDays, type Interval, intervals, maxDays, maxDaysByHour, parseDay, rangeFaults } from './day-range.ts'

const names = [
  ...(['clicks', 'countries', 'referrers', 'browsers', 'operating_systems', 'devices', 'languages'] as const),
  ...(['classes', 'links'] as const),
]

/** Null stands for what was not given. */
export interface StatsQuery {
  readonly name: (typeof names)[number]
  readonly link_id: number | null
  readonly domain_id: number | null
  readonly space_id: number | null
  /** A day: see `day-range.ts`. */
  readonly from: number | null
  readonly to: number | null
  readonly interval: Interval | null
  readonly sort_by: 'clicks' | 'value' | null
  readonly sort: 'desc' | 'asc' | null
  readonly per_page: number | null
  readonly page: number | null
}

const day = (description: string): Rule<number> => ({
  schema: Type.String({ format: 'date', description }),
  parse: parseDay,
})

/** What the lists take, and the clicks over time do not. */
const ofLists = ['sort_by', 'sort', 'per_page', 'page'] as const
const references = ['link_id', 'domain_id', 'space_id'] as const

/**
 * Defaults stand in the descriptions: clients that send what the schema of a parameter calls its default would send what
 * cannot be combined with the name.
 */
export const statsQuery = form<StatsQuery>(
  {
    name: required(oneOf(names, 'Which statistic.')),
    link_id: optional(positive({ description: 'Only clicks of this link. Not with `domain_id` or `space_id`.' }), null),
    domain_id: optional(positive({ description: 'Only clicks of links on this domain.' }), null),
    space_id: optional(positive({ description: 'Only clicks of links in this space.' }), null),
    from: optional(day(`The first day, in UTC. Without it, ${defaultDays} days up to \`to\`.`), null),
    to: optional(
      day(
        `The last day, in UTC: at most ${maxDays} days, ${maxDaysByHour} by hour. Without it, today, or the last day that these allow after \`from\`.`,
      ),
      null,
    ),
    interval: optional(oneOf(intervals, 'What a bucket spans; `day` by default. Only with `name=clicks`.'), null),
    sort_by: optional(oneOf(['clicks', 'value'], ofOthers('`clicks` by default.')), null),
    sort: optional(oneOf(['desc', 'asc'], ofOthers('`desc` by default.')), null),
    per_page: optional(
      {
        ...pageSize,
        schema: { ...pageSize.schema, description: ofOthers('10 by default.') } as TSchema,
      },
      null,
    ),
    page: optional(positive({ description: ofOthers('1 by default.') }), null),
  },
  [],
  (query) => [...referenceFaults(query), ...rangeFaults(query), ...foreignTo(query)],
)

function ofOthers(description: string): string {
  return `${description} Not with \`name=clicks\`.`
}

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
    message: `The ${field} cannot be combined with name=${query.name}. ${wayOut}`,
  }))
}
