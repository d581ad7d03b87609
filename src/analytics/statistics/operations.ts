/** The operations of the API on clicks, and their documentation. */
import { apiPrefix, type Operation } from '../../api/operations.ts'
import { type TSchema, Type, timeSchema } from '../../forms/json-schema.ts'
import { intervals } from './day-range.ts'
import { statsQuery } from './schema.ts'

const tag = {
  name: 'Statistics',
  description:
    'Who follows your links. A click is a visit that was redirected. People, bots (by their user agent) and previews (HEAD, and programs that show where a link leads, such as chats) are told apart; without a user agent a visit is a person’s. Where it only says clicks, they are those of people. Clicks show up within a second. No address and no user agent of a visitor is kept.',
}

const count = (description: string) => Type.Integer({ minimum: 0, description })
const date = (description: string) => Type.String({ format: 'date', description })
const number = Type.Integer({ minimum: 0 })
const url = Type.String({ format: 'uri' })
const asInLists = 'As in every list.'
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
    meta: Type.Object(
      {
        from: date('The first day.'),
        to: date('The last day.'),
        interval: Type.Enum([...intervals], { description: 'What each bucket spans.' }),
        ...{ clicks: number, unique_clicks: number, bots: number, previews: number },
      },
      { description: 'The range, and what all buckets add up to.' },
    ),
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
    links: Type.Object({ first: url, last: url, prev: orNull(url), next: orNull(url) }, { description: asInLists }),
    meta: Type.Object(
      {
        ...{ current_page: number, from: orNull(number), last_page: number, path: url, per_page: number },
        ...{ to: orNull(number), total: number, total_is_exact: Type.Boolean() },
        range: Type.Object({ from: date('The first day.'), to: date('The last day.') }),
        clicks: count('The clicks of all values together.'),
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
        ...{ from: '2026-11-22', to: '2026-11-22', interval: 'day' },
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
  description: `The clicks of all links of the account, or of one link, domain or space, by \`name\`:

- \`clicks\`: how many, over time. Empty hours, days and months are there, too; a month has only clicks of the range; all are of UTC.
- \`countries\` (ISO 3166-1 alpha-2), \`referrers\` (hosts), \`browsers\`, \`operating_systems\`, \`devices\`, \`languages\` and \`links\` (ids): the clicks of people by value, in pages. A day keeps 200 values of each; rarer ones are under \`other\`, what is unknown is under null, such as all of visitors who ask not to be tracked.
- \`classes\`: \`person\`, \`bot\` and \`preview\`.

Clicks follow their link into another space. Those of a deleted link still count for its domain, space and account, where \`links\` shows its id.`,
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
  summary: 'Forget the clicks of a link',
  description:
    'Forgets all clicks of the link: its own figures begin at zero again, and those of its domain, its space and the account no longer include them. A link whose `clicks_limit` was reached works again. A body is ignored.',
  scope: 'links:write',
  success: { status: 204, description: 'The clicks are forgotten.' },
  failures: ['not_found'],
}
