import { apiPrefix, type Operation } from '../../api/operations.ts'
import { type Field, form, optional, required } from '../../forms/form.ts'
import { type TSchema, Type, timeSchema } from '../../forms/json-schema.ts'
import { pageSize } from '../../forms/list-query.ts'
import { day, integer, oneOf } from '../../forms/rules.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { dimensionsOfLinks, sparseDimensions } from '../day.ts'
import { defaultDays, intervals, maxDays, maxDaysByHour, rangeFaults } from './day-range.ts'

const names = ['clicks', ...dimensionsOfLinks, 'classes', 'links'] as const

/** Parameters of lists, which clicks over time don't have. */
const ofLists = ['sort_by', 'sort', 'per_page', 'page'] as const
const references = ['link_id', 'domain_id', 'space_id', 'tag_id'] as const

/** Only descriptions name defaults: a client that sends all defaults would combine parameters that exclude each other. */
const parameters = {
  name: required(oneOf(names, 'The statistic.'), () => new Refusal('required.choice', { options: names.join(', ') })),
  link_id: optional(
    integer({ description: 'Only clicks on this link. Not with `domain_id`, `space_id` or `tag_id`.' }),
    null,
  ),
  domain_id: optional(integer({ description: 'Only clicks on this domain.' }), null),
  space_id: optional(integer({ description: 'Only clicks in this space.' }), null),
  tag_id: optional(
    integer({ description: 'Only clicks on the links that have this tag now, including earlier clicks.' }),
    null,
  ),
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
  ...missingLink(query),
])

/** Returns a violation if only links have the statistic. */
function missingLink({ name, link_id }: StatsQuery): Violation[] {
  const isOfLink = (sparseDimensions as readonly string[]).includes(name)
  return isOfLink && link_id === null ? [new Refusal('required.link', { name }).at('link_id')] : []
}

function ofOthers(description: string): string {
  return `${description} Not with \`name=clicks\`.`
}

/** Returns a violation for each of several references. */
function referenceFaults(query: StatsQuery): Violation[] {
  const given = references.filter((name) => query[name] !== null)
  if (given.length < 2) return []
  const others = (field: string) => given.filter((name) => name !== field)
  return given.map((field) => new Refusal('not_allowed.reference', { others: others(field) }).at(field))
}

/** Returns a violation for each parameter that the name excludes. */
function foreignTo(query: StatsQuery): Violation[] {
  const isSeries = query.name === 'clicks'
  const foreign = (isSeries ? ofLists : (['interval'] as const)).filter((name) => query[name] !== null)
  const refusal = isSeries
    ? new Refusal('not_allowed.series')
    : new Refusal('not_allowed.statistic', { name: query.name })
  return foreign.map((field) => refusal.at(field))
}

const tag = {
  name: 'Statistics',
  description:
    'Clicks on your links. A click is a redirected visit. Humans, bots (by user agent, or because a header is missing that every such browser sends) and previews (HEAD requests, and programs that preview links, such as chats) are counted separately. A visit without a user agent counts as human. "Clicks" without a qualifier are human clicks. Clicks appear within a second. IP addresses and user agents of visitors are not stored.',
}

const count = (description: string) => Type.Integer({ minimum: 0, description })
const date = (description: string) => Type.String({ format: 'date', description })
const timeZone = Type.String({ description: 'The account’s time zone.' })
const number = Type.Integer({ minimum: 0 })
const url = Type.String({ format: 'uri' })
const asInLists = 'The same as in other lists.'
const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])

const counts = {
  clicks: count('Human clicks.'),
  unique_clicks: count('Unique visitors: the first human click of each visitor per link and day.'),
  bots: count('Clicks by bots.'),
  previews: count('Clicks by programs that preview links.'),
}

const seriesSchema = Type.Object(
  {
    data: Type.Array(Type.Object({ start_at: timeSchema('The start of the hour, day or month, in UTC.'), ...counts })),
    meta: Type.Object(
      {
        from: date('The first day.'),
        to: date('The last day.'),
        interval: Type.Enum([...intervals], { description: 'The length of each bucket.' }),
        time_zone: timeZone,
        ...{ clicks: number, unique_clicks: number, bots: number, previews: number },
      },
      { description: 'The range, and the totals of all buckets.' },
    ),
  },
  { $id: 'ClicksOverTime' },
)

const valuesSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        value: Type.Union([Type.String(), Type.Integer(), Type.Null()], {
          description:
            'A number for a link’s id. Null if the value is unknown or the link was deleted permanently. `other` combines rare values.',
        }),
        clicks: count('Human clicks with this value. For `classes`: all clicks of the class.'),
      }),
    ),
    links: Type.Object({ first: url, last: url, prev: orNull(url), next: orNull(url) }, { description: asInLists }),
    meta: Type.Object(
      {
        ...{ current_page: number, from: orNull(number), last_page: number, path: url, per_page: number },
        ...{ to: orNull(number), total: number, total_is_exact: Type.Boolean() },
        range: Type.Object({ from: date('The first day.'), to: date('The last day.') }),
        time_zone: timeZone,
        clicks: count('The total clicks of all values.'),
      },
      { description: asInLists },
    ),
  },
  { $id: 'ClicksByValue' },
)

const path = `https://links.example.com${apiPrefix}/stats`
const query = 'name=countries'

const examples = {
  clicks: {
    summary: 'Clicks over time: `name=clicks&from=2026-11-22`',
    value: {
      data: [{ start_at: '2026-11-22T00:00:00.000Z', clicks: 214, unique_clicks: 180, bots: 31, previews: 7 }],
      meta: {
        ...{ from: '2026-11-22', to: '2026-11-22', interval: 'day', time_zone: 'UTC' },
        ...{ clicks: 214, unique_clicks: 180, bots: 31, previews: 7 },
      },
    },
  },
  countries: {
    summary: `Clicks by value: \`${query}\``,
    value: {
      data: [
        { value: 'DE', clicks: 120 },
        { value: null, clicks: 94 },
      ],
      links: { first: `${path}?${query}&page=1`, last: `${path}?${query}&page=1`, prev: null, next: null },
      meta: {
        ...{ current_page: 1, from: 1, last_page: 1, path, per_page: 10, to: 2, total: 2, total_is_exact: true },
        ...{ range: { from: '2026-11-01', to: '2026-11-30' }, time_zone: 'UTC', clicks: 214 },
      },
    },
  },
}

export const showStats: Operation = {
  id: 'showStats',
  method: 'GET',
  path: '/stats',
  tag,
  summary: 'Show statistics',
  description: `Shows clicks for the account, or for one link, domain, space or tag. \`name\` selects the statistic:

- \`clicks\`: clicks over time, by hour, day or month, including empty ones. The first and last month contain only days of the range.
- \`countries\` (ISO 3166-1 alpha-2), \`referrers\` (hosts), \`browsers\`, \`operating_systems\`, \`devices\`, \`languages\` and \`links\` (ids): human clicks by value, in pages. A day has up to 200 values of each statistic, and \`other\` for the rest. Unknown values are null, as are all values of visitors who ask not to be tracked.
- \`rules\`: human clicks on one link by rule, such as \`Test\`, or \`Test 2\` for its second variant. Null is the link’s \`url\`.
- \`addresses\`: human clicks on one link by short URL, never null. Clicks at deleted addresses count for the main one.
- \`classes\`: clicks by \`person\`, \`bot\` and \`preview\`.

If a link moves to another space, its clicks move with it. Clicks of a deleted link still count for its domain, space and account, where \`links\` shows its id. After a permanent deletion, or when the link can no longer be restored, they count under null there.`,
  scope: 'stats:read',
  query: statsQuery,
  headers: ['If-None-Match'],
  refused: { from: '2026-02-30' },
  success: {
    status: 200,
    description: 'The statistics.',
    schema: Type.Union([seriesSchema, valuesSchema]),
    examples,
    headers: ['ETag'],
    optionalHeaders: ['Link'],
  },
  failures: ['precondition_failed', 'validation_failed'],
}

export const deleteLinkClicks: Operation = {
  id: 'deleteLinkClicks',
  method: 'DELETE',
  path: '/links/:id/clicks',
  tag,
  summary: 'Delete a link’s clicks',
  description:
    'Deletes all clicks on the link. The link’s statistics start at zero again, and those clicks no longer count for its domain, space and account. A link that had reached its `clicks_limit` works again. A body is ignored.',
  scope: 'links:write',
  success: { status: 204, description: 'The clicks are deleted.' },
  failures: ['not_found'],
}
