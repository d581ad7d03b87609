/**
 * The operations on clicks, as the guard at the door and the documents see them.
 */
import { type TSchema, Type } from '../api/json-schema.ts'
import { apiPrefix, type Operation } from '../api/operation.ts'
import { timeSchema } from '../api/record-schema.ts'
import { intervals } from './day-range.ts'
import { statsQuery } from './schema.ts'

const tag = {
  name: 'Statistics',
  description:
    'Who follows your links. A click is a visit that was redirected. People, bots and previews (such as those of chats) are told apart; where it only says clicks, they are those of people. Clicks show up within a second. No address and no user agent of a visitor is kept.',
}

const count = (description: string) => Type.Integer({ minimum: 0, description })
const date = (description: string) => Type.String({ format: 'date', description })
const url = (description: string) => Type.String({ format: 'uri', description })
const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])

const counts = {
  clicks: count('Clicks of people.'),
  unique_clicks: count('Those of them that were the visitor’s first of the day on the link.'),
  bots: count('Clicks of bots.'),
  previews: count('Clicks of programs that make previews.'),
}

const seriesSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object({ start_at: timeSchema('When the hour, the day or the month begins, in UTC.'), ...counts }),
    ),
    meta: Type.Object({
      from: date('The first day of the range.'),
      to: date('The last day of the range.'),
      interval: Type.Enum([...intervals], { description: 'What each bucket spans.' }),
      ...counts,
    }),
  },
  { $id: 'ClicksOverTime' },
)

const valuesSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        value: Type.Union([Type.String(), Type.Integer(), Type.Null()], {
          description: 'Null where it is unknown; a number for the id of a link; `other` for values that had no room.',
        }),
        clicks: count('Clicks of people with this value; for `classes`, clicks of the class.'),
      }),
    ),
    links: Type.Object({
      first: url('The first page.'),
      last: url('The last page.'),
      prev: orNull(url('The page before; null on the first.')),
      next: orNull(url('The page after; null on the last.')),
    }),
    meta: Type.Object({
      current_page: Type.Integer({ minimum: 1, description: 'The page.' }),
      from: orNull(count('Position in the list of the first value of the page; null when it is empty.')),
      last_page: Type.Integer({ minimum: 1, description: 'The last page.' }),
      path: url('The list, without a query.'),
      per_page: Type.Integer({ minimum: 1 }),
      to: orNull(count('Position in the list of the last value of the page; null when it is empty.')),
      total: count('Values in the list.'),
      total_is_exact: Type.Boolean({ description: 'Always true.' }),
      range: Type.Object({ from: date('The first day of the range.'), to: date('The last day of the range.') }),
      clicks: count('The clicks of all values together.'),
    }),
  },
  { $id: 'ClicksByValue' },
)

const path = `https://links.example.com${apiPrefix}/stats`
const query = 'name=countries&from=2026-11-01&to=2026-11-30'

const examples = {
  clicks: {
    summary: 'Clicks over time: `name=clicks&from=2026-11-21&to=2026-11-22`',
    value: {
      data: [
        { start_at: '2026-11-21T00:00:00.000Z', clicks: 0, unique_clicks: 0, bots: 0, previews: 0 },
        { start_at: '2026-11-22T00:00:00.000Z', clicks: 214, unique_clicks: 180, bots: 31, previews: 7 },
      ],
      meta: {
        ...{ from: '2026-11-21', to: '2026-11-22', interval: 'day' },
        ...{ clicks: 214, unique_clicks: 180, bots: 31, previews: 7 },
      },
    },
  },
  countries: {
    summary: `Clicks by value: \`${query}\``,
    value: {
      data: [
        { value: 'DE', clicks: 120 },
        { value: 'FR', clicks: 90 },
        { value: null, clicks: 4 },
      ],
      links: { first: `${path}?${query}&page=1`, last: `${path}?${query}&page=1`, prev: null, next: null },
      meta: {
        ...{ current_page: 1, from: 1, last_page: 1, path, per_page: 10, to: 3, total: 3, total_is_exact: true },
        ...{ range: { from: '2026-11-01', to: '2026-11-30' }, clicks: 214 },
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
  description: `The clicks of all links of the account, or of one link, domain or space. \`name\` says what to tell of them:

- \`clicks\`: how many there were, over time. Every hour, day or month of the range has its bucket, empty ones too. A month begins on its first day, but holds only clicks of the range.
- \`countries\` (ISO 3166-1 alpha-2), \`referrers\` (host names), \`browsers\`, \`operating_systems\`, \`devices\`, \`languages\` and \`links\` (ids): what the clicks of people are broken down by, a page of values at a time. A day keeps 200 values of each; the clicks of rarer ones are under \`other\`. Visitors who ask not to be tracked (\`Sec-GPC\`, \`DNT\`) are under null.
- \`classes\`: \`person\`, \`bot\` and \`preview\`, all three even at zero.

Clicks follow their link into another space. Those of a deleted link still count for its domain, its space and the account, and \`links\` still names it.`,
  scope: 'stats:read',
  query: statsQuery,
  headers: ['If-Match', 'If-None-Match'],
  refused: { name: 'visitors', from: '2026-02-30' },
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
  summary: 'Forget the clicks of a link',
  description:
    'Forgets all clicks of the link: its own figures begin at zero again, and those of its domain, its space and the account no longer include them. A link whose `clicks_limit` was reached works again. A body is ignored.',
  scope: 'links:write',
  success: { status: 204, description: 'The clicks are forgotten.' },
  failures: ['not_found'],
}
