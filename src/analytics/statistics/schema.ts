import { type Field, form, optional, type Rule, required } from '../../forms/form.ts'
import { type TSchema, Type } from '../../forms/json-schema.ts'
import { pageSize } from '../../forms/list-query.ts'
import { integer, oneOf } from '../../forms/rules.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { dimensionsOfLinks } from '../day.ts'
import { defaultDays, intervals, maxDays, maxDaysByHour, parseDay, rangeFaults } from './day-range.ts'

const names = ['clicks', ...dimensionsOfLinks, 'classes', 'links'] as const

const day = (description: string): Rule<number> => ({
  schema: Type.String({ format: 'date', description }),
  parse: parseDay,
})

/** Parameters of lists, which clicks over time don't have. */
const ofLists = ['sort_by', 'sort', 'per_page', 'page'] as const
const references = ['link_id', 'domain_id', 'space_id'] as const

/** Only descriptions name defaults: a client that sends all defaults would combine parameters that exclude each other. */
const parameters = {
  name: required(oneOf(names, 'The statistic.'), () => new Refusal('required.choice', { options: names.join(', ') })),
  link_id: optional(integer({ description: 'Only clicks on this link. Not with `domain_id` or `space_id`.' }), null),
  domain_id: optional(integer({ description: 'Only clicks on this domain.' }), null),
  space_id: optional(integer({ description: 'Only clicks in this space.' }), null),
  from: optional(day(`The first day, in the account’s time zone. Default: ${defaultDays} days up to \`to\`.`), null),
  to: optional(
    day(
      `The last day. A range has at most ${maxDays} days, or ${maxDaysByHour} by hour. Default: today, or the last day that this limit allows.`,
    ),
    null,
  ),
  interval: optional(oneOf(intervals, 'The length of a bucket. Default: `day`. Only with `name=clicks`.'), null),
  sort_by: optional(oneOf(['clicks', 'value'], ofOthers('Default: `clicks`.')), null),
  sort: optional(oneOf(['desc', 'asc'], ofOthers('Default: `desc`.')), null),
  per_page: optional(
    { ...pageSize, schema: { ...pageSize.schema, description: ofOthers('Default: 10.') } as TSchema },
    null,
  ),
  page: optional(integer({ description: ofOthers('Default: 1.') }), null),
}

/** Null for a missing parameter. */
export type StatsQuery = {
  readonly [Name in keyof typeof parameters]: (typeof parameters)[Name] extends Field<infer Value> ? Value : never
}

export const statsQuery = form<StatsQuery>(parameters, [], (query) => [
  ...referenceFaults(query),
  ...rangeFaults(query),
  ...foreignTo(query),
])

function ofOthers(description: string): string {
  return `${description} Not with \`name=clicks\`.`
}

/** Returns a violation for each of several references. */
function referenceFaults(query: StatsQuery): Violation[] {
  const given = references.filter((name) => query[name] !== null)
  if (given.length < 2) return []
  const others = (field: string) => given.filter((name) => name !== field).join(' and ')
  return given.map((field) => new Refusal('not_allowed.reference', { others: others(field) }).at(field))
}

/** Returns a violation for each parameter that the name excludes. */
function foreignTo(query: StatsQuery): Violation[] {
  const isSeries = query.name === 'clicks'
  const foreign = (isSeries ? ofLists : (['interval'] as const)).filter((name) => query[name] !== null)
  const wayOut = isSeries ? 'Leave it out, or send another name.' : 'Leave it out, or send name=clicks.'
  return foreign.map((field) => new Refusal('not_allowed.statistic', { name: query.name, wayOut }).at(field))
}
