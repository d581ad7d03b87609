import type { Actor } from '../../access/actor.ts'
import { allows } from '../../access/actor.ts'
import { coveringWarnings } from '../../domains/domain-warnings.ts'
import type { Domain } from '../../domains/schema.ts'
import { domainRecords } from '../../domains/store.ts'
import { found, notFound } from '../../errors.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { quantity } from '../../lib/format.ts'
import type { LinkActions } from '../../links/actions.ts'
import { findLinkWarnings } from '../../links/link-warnings.ts'
import { sendQr } from '../../links/qr.ts'
import { type Link, linkOf } from '../../links/schema.ts'
import { findLink } from '../../links/store.ts'
import { appLinkFields } from '../../names/app-links.ts'
import { findQrStyle } from '../../qr/store.ts'
import type { Explain } from '../../rules/explanation.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { Storage } from '../../storage/port.ts'
import { findTagByName } from '../../tags/store.ts'
import { finalNote, restorableNote } from '../notice-messages.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import {
  controlFor,
  copyButton,
  hiddenFields,
  linkButton,
  type MenuItem,
  menu,
  menuForm,
  submitButton,
  type Viewer,
} from '../parts/buttons.ts'
import { permanentBox, readDeletionQuery } from '../parts/deletion.ts'
import { FormState } from '../parts/fields.ts'
import { linkSettings, settingItems } from '../parts/link-actions.ts'
import { breakableUrl, destination, qrImage, shortUrlParts, shortUrlText, statusBadge } from '../parts/links.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'
import { formZone } from '../parts/time-zones.ts'
import { warningNotes } from '../parts/warnings.ts'
import { formHandler } from '../record-forms.ts'
import { linkListReturnPath, linkReturnPath } from '../return-path.ts'
import { breakdownBars } from '../statistics/breakdowns.ts'
import { clicksOverTime } from '../statistics/clicks-over-time.ts'
import { noClicksYet, Statistics, type StatisticsServices } from '../statistics/statistics.ts'
import { type PropertyName, propertyNames } from '../statistics/values.ts'
import { addAddressForms, addressesSection, findShown } from './addresses.ts'
import { loadRecordHistory } from './history-entries.ts'
import { detourSentence, type LinkContext, linkFacts } from './link-facts.ts'
import { linkTest } from './link-test.ts'

const home = '/app/links'

interface Services extends StatisticsServices {
  readonly actions: { readonly links: LinkActions }
  readonly explain: Explain
  /** Deletes all of a link's clicks. Returns false if the account has no such link. */
  readonly deleteClicks: (actor: Actor, link: number) => Promise<boolean>
}

export function addLinkPages(pages: Pages, services: Services): void {
  pages.get(`${home}/:id`, 'links:read', (request) => showLink(request, services))

  addAddressForms(pages, services, (state, request) => showLink(request, services, state))

  pages.getFile(`${home}/:id/qr`, 'links:read', async (request) => {
    const { download, address_id, ...query } = request.query
    const link = await requestedLink(request, services)
    const shown = address_id === undefined ? link : await findShown(services, request.account, link.id, address_id)
    const { alias: name, short_url: shortUrl, domain_id } = shown
    const style = await findQrStyle(services.storage, request.account, domain_id)
    const disposition = download === undefined ? 'inline' : 'attachment'
    const headers = { 'cache-control': 'no-store' }
    return sendQr(request.exchange, { name, shortUrl, query, style, disposition, headers }, null)
  })

  addLinkActions(pages, services)
}

async function requestedLink(request: PageRequest, { storage, shortUrl }: Services): Promise<Link> {
  const { record } = found(await findLink(storage, request.account, idParam(request, 'link')), 'link')
  return linkOf(record, shortUrl)
}

/** `addition` is the form that adds an address, if it has errors. */
async function showLink(
  request: PageRequest,
  services: Services,
  addition: FormState | null = null,
): Promise<PageContent> {
  const link = await requestedLink(request, services)
  const path = `${home}/${link.id}`
  const timeZone = formZone(request)
  const statistics = new Statistics(services, request, { level: 'link', id: link.id }, path, breakdownNames)
  const isVisited = link.clicks > 0 || (await statistics.areWorthShowing())
  const [test, addresses, records, history, warningsOf, shown] = await Promise.all([
    linkTest(request, link, path, services.explain),
    addressesSection(request, link, services, addition),
    contextOf(link, request.account, services),
    loadRecordHistory({ ...services, timeZone }, request.actor, { record: 'link', id: link.id }, path),
    findLinkWarnings(services.storage, request.account, [link], services),
    isVisited
      ? Promise.all([
          clicksOverTime(statistics, link.created_at, link.clicks),
          breakdownBars(statistics, await shownBreakdowns(link, statistics)),
        ])
      : null,
  ])
  const notes = warningNotes(warningsOf(link), request.actor, { form: `${path}/edit`, scope: 'links:write' })
  const context = { ...records, ...history, timeZone, notes }
  const body = html`${notes('title')}${appNotes(link, records.domain, request.actor)}${detourSentence(link, context)}
<div class="identity">${statistics.live('facts', linkFacts(link, context))}${qrSection(link, `${path}/qr`, request.actor)}</div>
${addresses}
${test.section}
${clicksSection(link, shown)}
${history.section}
${controlFor(request.actor, 'links:write', deletionSection(link, isVisited))}`
  return {
    ...titleAndHeading(link),
    section: 'links',
    action: headActions(link, isVisited, request.actor),
    body,
    status: test.isInvalid ? 422 : statistics.status,
  }
}

const breakdownNames = ['rules', ...propertyNames] as const

/** Leaves out rules if the link has none, and none decided a click in the period. */
async function shownBreakdowns(
  { rules }: Link,
  statistics: Statistics<PropertyName>,
): Promise<readonly PropertyName[]> {
  const { rankings } = await statistics.clicks()
  const hasRules = rules.length > 0 || rankings.rules.countClicks(null) < rankings.rules.total
  return hasRules ? breakdownNames : propertyNames
}

async function contextOf(
  { space_id, domain_id, tags: names }: Link,
  account: number,
  { storage }: { readonly storage: Storage },
): Promise<Pick<LinkContext, 'space' | 'tags'> & { readonly domain: Domain }> {
  const [space, domain, tags] = await Promise.all([
    space_id === null ? undefined : spaceRecords.find(storage, account, space_id),
    domainRecords.find(storage, account, domain_id),
    Promise.all(names.map((name) => findTagByName(storage, account, name))),
  ])
  return { space: space?.record, domain: found(domain, 'link').record, tags: tags.filter((tag) => tag !== undefined) }
}

/** Renders the warnings about files of the domain that let an app open the link. */
function appNotes({ alias }: Link, domain: Domain, viewer: Viewer): Html {
  const form = `/app/domains/${domain.id}/edit`
  const notes = warningNotes(coveringWarnings(domain, alias), viewer, { form, scope: 'domains:write' })
  return html`${appLinkFields.map(notes)}`
}

function clicksSection(link: Link, statistics: readonly Html[] | null): Html {
  if (statistics === null) {
    return html`<section id="clicks" data-refresh><h2>Clicks</h2>${noClicksYet(link)}</section>`
  }
  return html`<section id="clicks" data-arrived="${link.clicks > 0 ? 'First click received' : 'First visit received, from a bot or a link preview'}"><h2>Clicks</h2>${statistics}</section>`
}

/** Renders a row for each deletion. Confirmation pages name the consequences. */
function deletionSection({ id }: Link, hasStatistics: boolean): Html {
  const path = `${home}/${id}`
  const row = (name: string, effect: string, verb: string, page: string) =>
    html`<li><div><h3>${name}</h3><p>${effect}</p></div>${confirmLink(verb, `${path}/${page}`)}</li>`
  return html`<section id="delete"><h2>Delete</h2><ul class="removals">
${hasStatistics ? row('Statistics', 'Resets the click count to 0. The link keeps working.', 'Delete statistics', 'delete-statistics') : null}
${row('Link', `Visitors can no longer open it. ${restorableNote}`, 'Delete link', 'delete')}</ul></section>`
}

/** Returns the title of the document, the heading of the page, which allows a line break after the host, and the link's title. */
function titleAndHeading(link: Link) {
  const { host, path } = shortUrlParts(link.short_url)
  const heading = html`<bdi class="short-url" dir="ltr">${host}/<wbr>${path.slice(1)}</bdi> ${statusBadge(link, Date.now())}`
  return { title: `${path} on ${host}`, heading, subtitle: link.title && html`<bdi>${link.title}</bdi>` }
}

/** Renders the actions to the right of the heading. Without scripts, the short link to select replaces Copy. */
function headActions(link: Link, hasStatistics: boolean, viewer: Viewer): Html {
  const { id, short_url } = link
  const path = `${home}/${id}`
  const deletion = { icon: 'remove', isDangerous: true, inDialog: true } as const
  const items: MenuItem[] = [
    { label: 'Open', href: short_url, icon: 'open', inNewTab: true },
    { label: 'Duplicate', href: `${home}/new?copy=${id}`, icon: 'copy' },
    ...settingItems(link),
  ]
  if (hasStatistics) items.push({ label: 'Delete statistics', href: `${path}/delete-statistics`, ...deletion })
  items.push({ label: 'Delete link', href: `${path}/delete`, ...deletion })
  const copy = html`<code class="without-script">${short_url}</code>
${copyButton(short_url, 'the short link', 'Copy', 'primary')}`
  if (!allows(viewer, 'links:write')) {
    const open = linkButton({ label: 'Open', href: short_url, icon: 'open', inNewTab: true })
    return html`<div class="actions">${copy}${open}</div>`
  }
  return html`<div class="actions">${copy}
${linkButton({ label: 'Edit', href: `${path}/edit`, icon: 'edit' })}
${menu('link-menu', 'More actions', items, 'plain')}${menuForm({ next: path })}</div>`
}

/** Renders the QR code, folded on phones only. A link to `#qr` opens it. */
function qrSection({ short_url, domain_id }: Link, path: string, viewer: Viewer): Html {
  const style = html`<p><a href="/app/domains/${domain_id}/qr">Change colors and logo</a></p>`
  return html`<details class="qr-fold"><summary>${icon('chevron', 'chevron')}QR code</summary>
<section id="qr" class="qr">${qrImage(short_url, path)}
<div class="stack"><h2>QR code</h2><p><code>${breakableUrl(short_url)}</code></p>
<a class="button plain" href="${path}?format=svg&amp;size=1024&amp;download=1">Download SVG</a>
<form method="get" action="${path}" class="actions">${hiddenFields({ format: 'png', download: '1' })}${submitButton({ label: 'Download PNG', weight: 'plain' })}<label for="qr-size" class="hidden-text">Size of the PNG</label>
<select id="qr-size" name="size"><option value="256">256 px</option><option value="512" selected>512 px</option><option value="1024">1024 px</option><option value="2048">2048 px</option></select></form>
${controlFor(viewer, 'domains:write', style)}</div></section></details>`
}

/** Adds the actions on one link. Each returns to the list in its previous state, or to the link page. */
function addLinkActions(pages: Pages, services: Services): void {
  const { links } = services.actions
  for (const [name, { change }] of Object.entries(linkSettings)) {
    pages.post(`${home}/:id/${name}`, 'links:write', async (request) => {
      const id = idParam(request, 'link')
      await links.change(request.actor, id, change, null)
      return new Redirect(linkReturnPath(request.fields.next), 'changes')
    })
  }

  const askToDelete = async (state: FormState, request: PageRequest) => {
    const { next } = request.query.next === undefined ? request.fields : request.query
    const link = await requestedLink(request, services)
    return deletePage(services, {
      state,
      account: request.account,
      link,
      next: next === undefined ? null : linkListReturnPath(next),
    })
  }

  pages.get(`${home}/:id/delete`, 'links:write', (request) => askToDelete(new FormState({}), request))
  pages.post(
    `${home}/:id/delete`,
    'links:write',
    formHandler(askToDelete, async (request) => {
      const id = idParam(request, 'link')
      await links.remove(request.actor, id, readDeletionQuery(request.fields), null)
      return new Redirect(linkListReturnPath(request.fields.next), 'changes')
    }),
  )

  pages.get(`${home}/:id/delete-statistics`, 'links:write', async (request) =>
    deleteStatisticsPage(await requestedLink(request, services)),
  )

  pages.post(`${home}/:id/delete-statistics`, 'links:write', async (request) => {
    const id = idParam(request, 'link')
    if (!(await services.deleteClicks(request.actor, id))) throw notFound('link')
    return new Redirect(`${home}/${id}`, 'changes')
  })
}

function deleteStatisticsPage({ id, clicks, short_url }: Link): PageContent {
  const figures = quantity(clicks, 'click')
  return confirmation({
    title: `Delete the statistics for ${shortUrlText(short_url)}?`,
    section: 'links',
    action: `${home}/${id}/delete-statistics`,
    consequences: [
      `This permanently deletes the link’s statistics, including ${figures}, and removes them from all totals. The link keeps working. ${finalNote}`,
    ],
    verb: 'Delete statistics',
    cancel: `${home}/${id}`,
  })
}

interface LinkDeletion {
  readonly state: FormState
  readonly account: number
  readonly link: Link
  /** The list to return to; null on the link page. */
  readonly next: string | null
}

/** Asks whether to delete the link. */
async function deletePage(services: Services, { state, account, link, next }: LinkDeletion): Promise<PageContent> {
  const { id, clicks, short_url } = link
  const name = shortUrlText(short_url)
  const counts = `The link has ${quantity(clicks, 'click')}.`
  return confirmation({
    title: `Delete ${name}?`,
    section: 'links',
    action: `${home}/${id}/delete`,
    consequences: [html`${await describeEffect(services, account, [link.domain_id])} ${counts}`, restorableNote],
    controls: state.withErrors(permanentBox(state)),
    verb: `Delete ${name}`,
    cancel: next ?? `${home}/${id}`,
    ...(next !== null && { fields: { next } }),
  })
}

/** Describes the effect on visitors of links on these domains: a 404, or the domain's not-found page. */
export async function describeEffect(
  { storage }: { readonly storage: Storage },
  account: number,
  domainIds: readonly number[],
): Promise<Part> {
  const domains = await Promise.all(domainIds.map((id) => domainRecords.find(storage, account, id)))
  const [url = null, ...others] = new Set(domains.map((domain) => domain?.record.not_found_url ?? null))
  if (others.length > 0) return 'Visitors will immediately see a 404 or the domain’s not-found page.'
  if (url === null) return 'Visitors will see a 404 immediately.'
  return html`Visitors will be redirected to ${destination(url)} immediately.`
}
