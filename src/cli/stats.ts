import type { ValueClicks } from '../analytics/statistics/ranking.ts'
import { showStatistics } from '../analytics/statistics/routes.ts'
import { statsQuery } from '../analytics/statistics/schema.ts'
import { findLinkNames } from '../links/link-list.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { accountCommand } from './accounts.ts'
import { flag, text, withDefault } from './arguments.ts'
import { givenFields, optionsOf, submit } from './form-options.ts'
import { json } from './output.ts'
import { linkIdOf, ownShortUrls, withIds } from './references.ts'
import { recordTable } from './resources.ts'

const { name, ...options } = optionsOf(statsQuery)

export const statsCommand = accountCommand({
  summary: 'Show the clicks of the account, or of a link, a domain, a space or a tag.',
  arguments: {
    operand: withDefault(String(name?.placeholder), 'the statistic (default: clicks over time)', 'clicks', text),
    ...options,
    json: flag('print the rows as "data", and the range and the totals as "meta", as JSON'),
  },
  run: async (db, { operand: name, account, json: isJson, ...options }) => {
    const { link_id: link, ...given } = givenFields(statsQuery, options)
    const fields = await withIds(db, account, {
      ...given,
      name,
      ...(typeof link === 'string' && { link_id: String(await linkIdOf(db, account, link)) }),
    })
    const shortUrl = await ownShortUrls(db)
    const { data, meta } = await submit(statsQuery, fields, () => showStatistics(db, account, fields, shortUrl), 'name')
    if (isJson) return json({ data, meta })
    const { from, to } = 'range' in meta ? meta.range : meta
    const total = `Total: ${meta.clicks.toLocaleString('en-US')} clicks from ${from} to ${to} (${meta.time_zone}).`
    const rows =
      name === 'links' ? await withShortUrls(db, account, data, shortUrl) : data.map((row) => inZone(row, meta))
    return `${recordTable(rows, ['value', 'clicks'])}\n\n${total}`
  },
})

const bucketTexts = { month: 7, day: 10, hour: 16 } as const

/** Returns a bucket of clicks over time with its local month, day or hour; other rows unchanged. */
function inZone(row: object, meta: { readonly time_zone: string; readonly interval?: unknown }): object {
  if (!('start_at' in row)) return row
  const { start_at, ...counts } = row
  const interval = meta.interval as keyof typeof bucketTexts
  const local = Temporal.Instant.from(String(start_at)).toZonedDateTimeISO(meta.time_zone).toPlainDateTime()
  return { [interval]: local.toString().replace('T', ' ').slice(0, bucketTexts[interval]), ...counts }
}

/** Adds the short URLs of links that still exist to the clicks by link. */
async function withShortUrls(db: Db, account: number, rows: readonly object[], shortUrl: ShortUrl): Promise<object[]> {
  const clicks = rows as readonly ValueClicks[]
  const names = await findLinkNames(
    db,
    account,
    clicks.flatMap(({ value }) => (typeof value === 'number' ? value : [])),
  )
  return clicks.map(({ value: id, clicks }) => {
    const link = names.get(id as number)
    return { id, clicks, short_url: link === undefined ? null : shortUrl(link.domain, link.alias) }
  })
}
