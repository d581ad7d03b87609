/** The list of links as a CSV file. */

import { recentDays } from '../../accounts/calendar.ts'
import { sendParts } from '../../http/response.ts'
import { csvRow } from '../../lib/csv.ts'
import { capitalize } from '../../lib/format.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import { Ticks } from '../../lib/ticks.ts'
import { findBulkLinks } from '../../links/bulk-links.ts'
import { linkBatches } from '../../links/export.ts'
import { shownName } from '../../links/fields.ts'
import { linkLabels, linkOf, storeLink, textOf } from '../../links/schema.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { PageRequest as ListPage, Storage } from '../../storage/port.ts'
import { linkFilePath, linkListState } from '../link-list.ts'
import type { PageRequest, Pages } from '../page.ts'
import { byteOrderMark, csvHeaders } from '../statistics/csv.ts'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly semaphores: { readonly downloads: Semaphore }
}

export function addLinkFile(pages: Pages, services: Services): void {
  pages.getFile(linkFilePath, 'links:read', (request) =>
    services.semaphores.downloads.run(async () => {
      const list = linkListState(linkFilePath, request.query)
      return sendParts(request.exchange, fileParts(request, services, list.request), csvHeaders('links.csv'))
    }, String(request.account)),
  )
}

/** Yields the header, then the links in batches, newest first: only ids keep their order while others store links. */
async function* fileParts(
  { account }: PageRequest,
  { storage, shortUrl }: Services,
  request: ListPage,
): AsyncGenerator<string> {
  const spaceNames = new Map<number, string | null>()
  const ticks = new Ticks()
  let text = byteOrderMark
  text += csvRow([...columns, `Clicks (${recentDays} days)`, 'Total clicks', 'Last click', 'Created', ...settingLabels])
  for await (const rows of linkBatches(storage, account, { ...request, direction: 'desc' })) {
    const ids = rows.map(({ id }) => id)
    const stored = await findBulkLinks(storage, account, ids)
    const recent = new Map(stored.map(({ id, recentClicks }) => [id, recentClicks]))
    for (const row of rows) {
      const link = linkOf(row, shortUrl)
      const { id, short_url, title, url, space_id, status, clicks, last_clicked_at, created_at } = link
      const space = space_id === null ? null : await spaceName(space_id)
      const counts = [recent.get(id) ?? 0, clicks, last_clicked_at, created_at]
      const values = settings.map((name) => textOf(link[name]))
      text += csvRow([short_url, title, url, space, capitalize(status), ...counts, ...values])
      await ticks.next()
    }
    yield text
    text = ''
  }

  async function spaceName(id: number): Promise<string | null> {
    if (!spaceNames.has(id)) spaceNames.set(id, (await spaceRecords.find(storage, account, id))?.record.name ?? null)
    return spaceNames.get(id) ?? null
  }
}

const columns = ['Link', linkLabels.title, linkLabels.url, linkLabels.space_id, 'Status']

type Field = keyof typeof linkLabels

/** Fields that the other columns contain. `Link` is the URL of the domain and the alias. */
const shownFields: readonly Field[] = ['domain_id', 'alias', 'title', 'url', 'space_id']

/** The other fields, so that an import of the file creates the same links. */
const settings = [...new Set<Field>(['tags', 'notes', 'archived', ...(Object.keys(storeLink.fields) as Field[])])]
  .filter((field) => !shownFields.includes(field))
  .map(shownName)
/** A column name that says that exports have no passwords. */
const passwordColumn = 'Has a password'
const settingLabels = settings.map((name) => (name === 'has_redirect_password' ? passwordColumn : linkLabels[name]))
