import { idOf, sendContent, sendNumberedPage } from '../../api/envelopes.ts'
import type { Api } from '../../api/routes.ts'
import { notFound } from '../../errors.ts'
import { conditionOf } from '../../http/conditions.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { send } from '../../http/response.ts'
import type { Db } from '../../storage/port.ts'
import { dayText } from '../days.ts'
import { checkedQuery } from './checks.ts'
import { rangeOf, today } from './day-range.ts'
import { deleteLinkClicks, showStats } from './operations.ts'
import { rankingOf, seriesOf } from './reading.ts'

export interface StatsParts {
  /** Forgets the clicks of the account's link, those that wait to be written included; false if there is no such link. */
  readonly forget: (account: number, link: number) => Promise<boolean>
}

/** The statistics, and the way to forget the clicks of a link. */
export function statsRoutes(api: Api, db: Db, { forget }: StatsParts): void {
  api.add(showStats, async (exchange, { caller: { account } }) => {
    const condition = conditionOf(exchange)
    const { subject, ...query } = await checkedQuery(db, account, exchange.query as Fields)
    const range = rangeOf(query, today())
    const dates = { from: dayText(range.from), to: dayText(range.to) }
    if (query.name === 'clicks') {
      const interval = query.interval ?? 'day'
      const { buckets, totals } = await seriesOf(db, account, subject, range, interval)
      return sendContent(exchange, { data: buckets, meta: { ...dates, interval, ...totals } }, condition)
    }
    const ranking = await rankingOf(db, account, subject, range, query.name)
    const per_page = query.per_page ?? 10
    const rows = await ranking.page({
      sortBy: query.sort_by ?? 'clicks',
      direction: query.sort ?? 'desc',
      offset: ((query.page ?? 1) - 1) * per_page,
      limit: per_page,
    })
    const page = { rows, total: ranking.size, totalIsExact: true }
    const meta = { range: dates, clicks: ranking.total }
    const path = api.urlOf(exchange, showStats)
    return sendNumberedPage(exchange, { per_page, page: query.page }, page, { path, condition, meta })
  })

  api.add(deleteLinkClicks, async (exchange, { caller: { account } }) => {
    const isForgotten = await forget(account, idOf(exchange, 'link'))
    return isForgotten ? send(exchange, 204) : notFound('link')
  })
}
