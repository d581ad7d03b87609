import { calendarOf, dayText } from '../../accounts/calendar.ts'
import { findTimeZones } from '../../accounts/store.ts'
import { sendContent, sendPage } from '../../api/envelopes.ts'
import { readId } from '../../api/operations.ts'
import type { Api } from '../../api/routes.ts'
import { notFound, validationFailed } from '../../errors.ts'
import { readCondition } from '../../http/conditions.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { send } from '../../http/response.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Db, Storage } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import type { Clicks } from '../clicks.ts'
import { resolveRange } from './day-range.ts'
import { deleteLinkClicks, type StatsQuery, showStats, statsQuery } from './schema.ts'
import type { Subject } from './statements.ts'
import { byShortUrl, readRanking, readSeries } from './statistics.ts'
import { hasRecord } from './store.ts'

/** Adds the operation that shows statistics. */
export function statsRoutes(api: Api, db: Storage, shortUrl: ShortUrl): void {
  api.add(showStats, async (exchange, { actor: { account } }) => {
    const condition = readCondition(exchange)
    const { page, meta, data: rows } = await showStatistics(db, account, exchange.query, shortUrl)
    if (page === null) return sendContent(exchange, { data: rows, meta }, condition)
    const found = { rows, total: page.total, totalIsExact: true }
    const path = api.urlOf(exchange, showStats)
    return sendPage(exchange, { ...page, after: null }, found, { path, condition, meta })
  })
}

/** Adds the operation that deletes a link's clicks. */
export function clickDeletionRoute(api: Api, deleteClicks: Clicks['deleteClicks']): void {
  api.add(deleteLinkClicks, async (exchange, { actor }) => {
    const isDeleted = await deleteClicks(actor, readId(exchange, 'link'))
    return isDeleted ? send(exchange, 204) : notFound('link')
  })
}

/** Returns the statistic that the fields describe; clicks over time have no pages. Throws `validation_failed`. */
export async function showStatistics(db: Storage, account: number, fields: Fields, shortUrl: ShortUrl) {
  const { subject, ...query } = await readQuery(db, account, fields)
  const calendar = calendarOf(await findTimeZones(db, account))
  const time_zone = calendar.timeZone
  const range = resolveRange(query, calendar.today())
  const dates = { from: dayText(range.from), to: dayText(range.to) }
  if (query.name === 'clicks') {
    const interval = query.interval ?? 'day'
    const { buckets, totals } = await readSeries(db, account, subject, calendar, range, interval)
    return { data: buckets, page: null, meta: { ...dates, interval, time_zone, ...totals } }
  }
  const values = await readRanking(db, account, subject, range, query.name)
  const ranking = query.name === 'addresses' ? await byShortUrl(db, account, subject.id, values, shortUrl) : values
  const per_page = query.per_page ?? 10
  const data = await ranking.page({
    sortBy: query.sort_by ?? 'clicks',
    direction: query.sort ?? 'desc',
    offset: ((query.page ?? 1) - 1) * per_page,
    limit: per_page,
  })
  const page = { per_page, page: query.page, total: ranking.size }
  return { data, page, meta: { range: dates, time_zone, clicks: ranking.total } }
}

const records = ['link', 'domain', 'space', 'tag'] as const

/** Returns the query and its subject. Throws `validation_failed` with all violations. */
async function readQuery(db: Db, account: number, input: Fields): Promise<StatsQuery & { readonly subject: Subject }> {
  const { values, violations } = statsQuery.read(input)
  const all = [...violations]
  let subject: Subject = { level: 'account', id: account }
  for (const level of records) {
    const id = values[`${level}_id`]
    if (typeof id !== 'number') continue
    subject = { level, id }
    // The response is the same for a record of another account.
    if (!(await hasRecord(db, account, subject))) all.push(new Refusal(`unknown_${level}`, { id }).at(`${level}_id`))
  }
  if (all.length > 0) throw validationFailed(all)
  return { ...(values as StatsQuery), subject }
}
