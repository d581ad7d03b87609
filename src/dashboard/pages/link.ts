/** One link: what is known of it, its QR code, and its statistics. */
import { found } from '../../errors.ts'
import { type Html, html } from '../../http/html.ts'
import { sendQr } from '../../links/qr-route.ts'
import type { Link } from '../../links/schema.ts'
import { linkOf } from '../../links/shown.ts'
import { findLink } from '../../links/store.ts'
import { findSpace } from '../../spaces/store.ts'
import { sendClicks } from '../clicks-csv.ts'
import { type Asked, idOf, type Pages } from '../pages.ts'
import { confirmLink } from '../parts/confirm.ts'
import { allBreakdowns, breakdownBars, clicksOverTime, hasVisits, noClicksYet, periodOf } from '../statistics.ts'
import type { LinkPageParts } from './link-actions.ts'
import { headActions, identityOf, namesOf } from './link-identity.ts'

const home = '/app/links'

/** `/app/links/{id}`, and the files of the link. */
export function linkPage(pages: Pages, { storage, shortUrl }: Pick<LinkPageParts, 'storage' | 'shortUrl'>): void {
  pages.show(`${home}/:id`, async (asked) => {
    const { account, query } = asked
    const link = await linkAsked(asked)
    const reading = periodOf(query)
    const path = `${home}/${link.id}`
    const subject = { scope: 'link', id: link.id } as const
    const of = { db: storage, account, subject, reading, path }
    const isRefused = reading.violations.length > 0
    // A refused period is said above the figures.
    const isQuiet = !isRefused && link.clicks === 0 && !(await hasVisits(of))
    const [space, stats] = await Promise.all([
      link.space_id === null ? undefined : findSpace(storage, account, link.space_id),
      isQuiet ? null : Promise.all([clicksOverTime(of), breakdownBars(of, allBreakdowns)]),
    ])
    const body = html`${identityOf(link, space?.record, `${path}/qr`)}
${clicksOf(link, stats)}
${removals(link, stats !== null)}`
    const status = isRefused ? 422 : 200
    return { ...namesOf(link), place: 'links', action: headActions(link), body, status }
  })

  pages.serve(`${home}/:id/clicks.csv`, async (asked) => {
    const { id, alias } = await linkAsked(asked)
    return sendClicks(asked, storage, { scope: 'link', id }, `${alias}-clicks.csv`)
  })

  pages.serve(`${home}/:id/qr`, async (asked) => {
    const { alias: name, short_url: address } = await linkAsked(asked)
    const { download, ...query } = asked.query
    const disposition = download === undefined ? 'inline' : 'attachment'
    const headers = { 'cache-control': 'no-store' }
    return sendQr(asked.exchange, { name, address, query, disposition, headers }, null)
  })

  async function linkAsked(asked: Asked): Promise<Link> {
    const { record } = found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link')
    return linkOf(record, shortUrl)
  }
}

function clicksOf(link: Link, stats: readonly Html[] | null): Html {
  if (stats === null) {
    return html`<section id="clicks" data-refresh><h2>Clicks</h2>${noClicksYet(link)}</section>`
  }
  return html`<section id="clicks" data-arrived="${link.clicks > 0 ? 'The first click is here' : 'A bot or a link preview was here first'}"><h2>Clicks</h2>${stats}</section>`
}

/** What can be destroyed; the questions say what then happens. */
function removals({ id }: Link, hasStatistics: boolean): Html {
  const path = `${home}/${id}`
  const forget = html`<div><p>Its clicks go back to 0. The link goes on working.</p>${confirmLink('Delete the statistics', `${path}/forget`)}</div>`
  return html`<section id="delete"><h2>Delete</h2><div class="removals">${hasStatistics ? forget : null}
<div>${confirmLink('Delete the link', `${path}/delete`)}</div></div></section>`
}
