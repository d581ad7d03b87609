import type { ValueClicks } from '../analytics/statistics/ranking.ts'
import { showStats, statsQuery } from '../analytics/statistics/schema.ts'
import { formatCount } from '../lib/format.ts'
import { linkOperations } from '../links/operations.ts'
import type { Link } from '../links/schema.ts'
import { flag, text, withDefault } from './arguments.ts'
import { apiCommand, type Client } from './client.ts'
import { formOptions, givenFields } from './form-options.ts'
import { json, recordTable } from './output.ts'
import { chooseLinkId, withIds } from './references.ts'

const { name, ...options } = formOptions(statsQuery)

export const statsCommand = apiCommand({
  summary: 'Show the clicks of the account, or of a link, a domain, a space or a tag.',
  arguments: {
    operand: withDefault(String(name?.placeholder), 'the statistic (default: clicks over time)', 'clicks', text),
    ...options,
    json: flag('print the rows as "data", and the range and the totals as "meta", as JSON'),
  },
  run: async (client, { operand: name, json: isJson, ...options }) => {
    const { link_id: link, ...given } = givenFields(statsQuery, options)
    const fields = await withIds(client, {
      ...given,
      name,
      ...(typeof link === 'string' && { link_id: String(await chooseLinkId(client, link)) }),
    })
    const { data, meta } = await client.call<object[], StatisticTotals>(showStats, { fields, operand: 'name' })
    const { range = meta, time_zone, clicks } = meta
    if (isJson) return json({ data, meta: range === meta ? meta : { range, time_zone, clicks } })
    const total = `Total: ${formatCount(clicks)} clicks from ${range.from} to ${range.to} (${time_zone}).`
    const rows = name === 'links' ? await withShortUrls(client, data) : data.map((row) => inZone(row, meta))
    return `${recordTable(rows, ['value', 'clicks'])}\n\n${total}`
  },
})

/** The totals of a statistic. Clicks over time have the range beside them. */
interface StatisticTotals {
  readonly range?: { readonly from?: string; readonly to?: string }
  readonly from?: string
  readonly to?: string
  readonly interval?: keyof typeof bucketTexts
  readonly time_zone: string
  readonly clicks: number
}

/** Any day: only the time zone of the response is used. */
const anyDay = '2026-01-01'

/** Returns the time zone of the account. */
export async function readTimeZone(client: Client): Promise<string> {
  const { meta } = await client.call<object[], StatisticTotals>(showStats, {
    fields: { name: 'clicks', from: anyDay, to: anyDay },
  })
  return meta.time_zone
}

const bucketTexts = { month: 7, day: 10, hour: 16 } as const

/** Returns a bucket of clicks over time with its local month, day or hour; other rows unchanged. */
function inZone(row: object, { interval = 'day', time_zone }: StatisticTotals): object {
  if (!('start_at' in row)) return row
  const { start_at, ...counts } = row
  const local = Temporal.Instant.from(String(start_at)).toZonedDateTimeISO(time_zone).toPlainDateTime()
  return { [interval]: local.toString().replace('T', ' ').slice(0, bucketTexts[interval]), ...counts }
}

/** Adds the short URLs of links that still exist to the clicks by link. */
async function withShortUrls(client: Client, rows: readonly object[]): Promise<object[]> {
  const named: object[] = []
  for (const { value: id, clicks } of rows as readonly ValueClicks[]) {
    const link = typeof id === 'number' ? await client.find<Link>(linkOperations.show, id) : undefined
    named.push({ id, clicks, short_url: link?.short_url ?? null })
  }
  return named
}
