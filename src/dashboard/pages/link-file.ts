/** The list of links as a CSV file. */
import { calendarOf } from '../../analytics/calendar.ts'
import { recentDays } from '../../analytics/recent.ts'
import { dailyClicksOf } from '../../analytics/statistics/statistics.ts'
import { overloaded } from '../../errors.ts'
import { addHeaders, sendParts } from '../../http/response.ts'
import { csvRow } from '../../lib/csv.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { listLinks } from '../../links/link-list.ts'
import { type LinkRow, linkLabels, linkOf } from '../../links/schema.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { PageRequest as ListPage } from '../../storage/port.ts'
import { type ListState, linkListState } from '../lists.ts'
import type { PageRequest, Pages, Services } from '../pages.ts'
import { capitalize } from '../parts/format.ts'
import { csvHeaders } from '../statistics/csv.ts'

const path = '/app/links.csv'
/** The number of links that are read together. */
const batchSize = 100
/** Files take as long as clients read them, so they have their own limits. */
const limits = { concurrency: 8, concurrencyPerKey: 2, maxQueue: 64, maxQueuePerKey: 4 }

export function addLinkFile(pages: Pages, services: Services): void {
  const downloads = new Semaphore({
    ...limits,
    rejection: () => overloaded('Too many files are being downloaded. Try again when one is complete.'),
  })
  pages.getFile(path, (request) =>
    downloads.run(() => {
      const list = linkListState(path, request.query)
      addHeaders(request.exchange, csvHeaders('links.csv'))
      return sendParts(request.exchange, fileParts(request, services, list.request))
    }, String(request.account)),
  )
}

/** Returns the URL of the file with the links that match the filters of a list. */
export function linkFileHref(list: ListState): string {
  return list.href({ sort_by: null, sort: null, per_page: null }).replace('/app/links', path)
}

/** Yields the header, then the links in batches, newest first: only ids keep their order while others store links. */
async function* fileParts(
  { account, session }: PageRequest,
  { storage, shortUrl }: Services,
  request: ListPage,
): AsyncGenerator<string> {
  const today = calendarOf(session.account.time_zones).today()
  const recent = { from: today - recentDays + 1, to: today }
  const spaceNames = new Map<number, string | null>()
  const page = { ...request, sortBy: 'id', direction: 'desc', offset: 0, limit: batchSize } as const
  let after = Number.MAX_SAFE_INTEGER
  let text = csvRow([...columns, `Clicks (${recentDays} days)`, 'Total clicks', 'Last click', 'Created'])
  for (let rows: readonly LinkRow[] = []; ; ) {
    rows = (await listLinks(storage, account, { ...page, after })).rows
    const ids = rows.map(({ id }) => id)
    const daily = await dailyClicksOf(storage, account, ids, recent)
    for (const row of rows) {
      const { id, short_url, title, url, space_id, status, clicks, last_clicked_at, created_at } = linkOf(row, shortUrl)
      const space = space_id === null ? null : await spaceName(space_id)
      const recentClicks = (daily.get(id) ?? []).reduce((sum, each) => sum + each, 0)
      const counts = [recentClicks, clicks, last_clicked_at, created_at]
      text += csvRow([short_url, title, url, space, capitalize(status), ...counts])
    }
    yield text
    if (rows.length < batchSize) return
    after = ids.at(-1) as number
    text = ''
  }

  async function spaceName(id: number): Promise<string | null> {
    if (!spaceNames.has(id)) spaceNames.set(id, (await spaceRecords.find(storage, account, id))?.record.name ?? null)
    return spaceNames.get(id) ?? null
  }
}

const columns = ['Link', linkLabels.title, linkLabels.url, linkLabels.space_id, 'Status']
