import { calendarOf, recentDays } from '../../accounts/calendar.ts'
import { findTimeZones, isFirstAccount } from '../../accounts/store.ts'
import { readRanking, readSeries } from '../../analytics/statistics/statistics.ts'
import type { ResourceHandlers } from '../../api/handlers.ts'
import { type Domain, domainLabels, listDomainsQuery } from '../../domains/schema.ts'
import { countAddresses } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import { icon } from '../../frame/icons.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { quantity } from '../../lib/format.ts'
import { lastClickOn } from '../../links/activity.ts'
import { countLinksIn } from '../../links/store.ts'
import { noAppLinks } from '../../names/app-links.ts'
import { parseHostName } from '../../names/host-name.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { DomainChecks } from '../../reachability/checks.ts'
import { type DomainCheck, findChecks, findReachedDomain, storeCheck } from '../../reachability/store.ts'
import type { Db, Storage } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import type { AddGroupPages, Listed } from '../group.ts'
import { idParam, type PageRequest, type Pages, Redirect } from '../page.ts'
import { controlFor, type Viewer } from '../parts/buttons.ts'
import { type FormState, textField } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { destination, linkCount } from '../parts/links.ts'
import type { Column } from '../parts/table.ts'
import type { WarningNotes } from '../parts/warnings.ts'
import { appLinkFieldset, appLinkSection, filesOf } from './domain-app-links.ts'
import { copyableHostName, reachabilityBadge, reachabilitySection } from './domain-reachability.ts'
import { factList } from './link-facts.ts'

const home = '/app/domains'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly dashboardUrl: (exchange: Exchange) => string
  readonly actions: { readonly domains: ResourceHandlers<Domain> }
}

export function addDomainPages(pages: Pages, addGroupPages: AddGroupPages, services: Services): void {
  const { storage, shortUrl } = services
  const { domains } = services.actions
  const checks = new DomainChecks({ storage, shortUrl })
  addGroupPages<Domain>({
    what: 'domain',
    words: {
      add: 'Add domain',
      create: 'Add domain',
      why: 'Every short link starts with a domain you own, such as go.example.com.',
      created: 'Added',
      statistics: 'Clicks on this domain',
    },
    nameOf: ({ name_unicode }) => name_unicode,
    heading: ({ name_unicode }) => html`<bdi>${name_unicode}</bdi>`,
    underName: (domain, viewer) =>
      domain.homepage_url === null ? noHomepage(domain, viewer) : destination(domain.homepage_url, shownHomepage),
    columns: (account, rows) => listColumns(storage, account, rows),
    details: (...shown) => domainDetails(services, checks, ...shown),
    deletion: async ({ id, name_unicode }, total, links, account) => {
      const { further } = await countAddresses(storage, account, id)
      const counts = [
        ...(total > 0 ? [links] : []),
        ...(further > 0 ? [quantity(further, 'further address', 'further addresses')] : []),
      ]
      return [
        counts.length === 0 ? `Delete ${name_unicode}?` : `Delete ${name_unicode} and its ${counts.join(' and ')}?`,
        html`${await recentClicks(storage, account, id)} Visitors will see a 404 immediately.`,
        ...(further > 0 ? ['Links on other domains stay, but lose their addresses here.'] : []),
      ]
    },
    isNamed: (domain, text) => isSameName(domain, text),
    actions: domains,
    listQuery: listDomainsQuery,
    labels: domainLabels,
    fieldsIn: (values) => withLineFeeds('name' in values ? { ...values, name: hostOfOrigin(values.name) } : values),
    initialValues: async () => ({}),
    newControls: newDomainFields,
    editForm: async ({ id, name_unicode }) => ({
      name: name_unicode,
      controls: (state) => html`${fixedName(id, name_unicode)}${settingFields(state)}`,
    }),
  })
  addCheck(pages, services, checks)
}

function addCheck(pages: Pages, { storage, dashboardUrl, actions }: Services, checks: DomainChecks): void {
  pages.post(`${home}/:id/check`, 'domains:write', async (request) => {
    const { account, exchange } = request
    const { record } = found(await actions.domains.find(account, idParam(request, 'domain')), 'domain')
    const host = readPublicHost(dashboardUrl(exchange))
    // The page then shows the addresses of the public host.
    const network = (await isFirstAccount(storage, account)) ? 'any' : 'public'
    const [result] = await Promise.all([
      checks.check(record.name, network, filesOf(record)),
      checks.lookUpAddresses(host ?? ''),
    ])
    await storeCheck(storage, account, record.id, result)
    const isPrivate = result.answer === 'private address'
    const code = result.answer === 'here' ? 'domain-reached' : isPrivate ? 'domain-private' : 'domain-not-reached'
    return new Redirect(`${home}/${record.id}`, { code })
  })
}

export function readPublicHost(dashboardUrl: string): string | null {
  return URL.parse(dashboardUrl)?.hostname ?? null
}

async function listColumns(db: Db, account: number, rows: readonly Domain[]): Promise<Column<Listed<Domain>>[]> {
  const ids = rows.map(({ id }) => id)
  const results = await findChecks(db, account, ids)
  return [
    {
      label: 'State',
      width: 'large',
      cell: ({ row }) => reachabilityBadge(row.name, results.get(row.id)),
      isPlain: true,
    },
    {
      label: 'Links',
      width: 'small',
      leaves: 4,
      cell: ({ row, links }) => linkCount(`domain_id=${row.id}`, links),
      isPlain: true,
    },
  ]
}

/** Renders the facts of a domain, and whether visitors reach it. */
async function domainDetails(
  { storage, dashboardUrl }: Services,
  checks: DomainChecks,
  { account, actor, exchange }: PageRequest,
  domain: Domain,
  hasClicks: boolean,
  notes: WarningNotes,
): Promise<Html> {
  const [links, results, reached] = await Promise.all([
    countLinksIn(storage, account, 'domain_id', [domain.id]),
    findChecks(storage, account, [domain.id]),
    findReachedDomain(storage, account),
  ])
  const check = results.get(domain.id)
  const publicHost = readPublicHost(dashboardUrl(exchange))
  const facts = domainFacts(domain, links.get(domain.id) ?? 0, check, actor, notes)
  const reachability = reachabilitySection({ domain, check, publicHost, checks, reached, hasClicks, viewer: actor })
  return html`${facts}${reachability}${appLinkSection(domain, check, actor, notes)}`
}

function domainFacts(
  domain: Domain,
  links: number,
  check: DomainCheck | undefined,
  viewer: Viewer,
  notes: WarningNotes,
): Html {
  const { id, name, name_unicode, homepage_url, not_found_url, created_at } = domain
  return factList(null, [
    [
      domainLabels.homepage_url,
      homepage_url === null ? noHomepage(domain, viewer) : html`${externalLink(homepage_url)}${notes('homepage_url')}`,
    ],
    [
      domainLabels.not_found_url,
      not_found_url === null
        ? 'The page “Link not found”'
        : html`${externalLink(not_found_url)}${notes('not_found_url')}`,
    ],
    ['Links', linkCount(`domain_id=${id}`, links)],
    ['State', reachabilityBadge(name, check)],
    ['Name in ASCII', name === name_unicode ? null : copyableHostName(name, 'the name in ASCII')],
    ['Added', timeAgo(created_at, Date.now())],
  ])
}

const shownUrl = 100
const shownHomepage = 48

function externalLink(url: string): Html {
  return html`<a href="${url}" title="${url}" rel="noreferrer">${destination(url, shownUrl)}</a>`
}

function noHomepage({ id, name_unicode }: Domain, viewer: Viewer): Html {
  const action = html`<a href="${home}/${id}/edit#field-homepage_url" aria-label="Set homepage for ${name_unicode}">Set homepage</a>`
  return html`<span class="pair"><span class="state expired">${icon('warning')}No homepage</span> ${controlFor(viewer, 'domains:write', action)}</span>`
}

/** The links of a day among which the last click is looked for, most clicked first. */
const maxClickedLinks = 500

/** Describes the domain's human clicks in the last 30 days. */
async function recentClicks(db: Storage, account: number, id: number): Promise<Part> {
  const subject = { level: 'domain', id } as const
  const calendar = calendarOf(await findTimeZones(db, account))
  const today = calendar.today()
  const range = { from: today - recentDays + 1, to: today }
  const { buckets, totals } = await readSeries(db, account, subject, calendar, range, 'day')
  if (totals.clicks === 0) return `It had no clicks in the last ${recentDays} days.`
  const lastDay = range.from + buckets.findLastIndex(({ clicks }) => clicks > 0)
  const clicked = await readRanking(db, account, subject, { from: lastDay, to: lastDay }, 'links')
  const top = await clicked.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: maxClickedLinks })
  const ids = top.flatMap(({ value }) => (typeof value === 'number' ? value : []))
  const last = await lastClickOn(db, account, ids)
  const when = last === null ? null : html`, the last ${timeAgo(last, Date.now())}`
  return html`It had ${quantity(totals.clicks, 'click')} in the last ${recentDays} days${when}.`
}

/** Returns whether people mean the domain with this text. */
function isSameName({ name, name_unicode }: Domain, text: string): boolean {
  // The name may be invalid under the current rules.
  if (text === name || text === name_unicode) return true
  const parsed = parseHostName(text)
  return !(parsed instanceof Refusal) && parsed.name === name
}

/** Returns the host of a pasted origin such as `http://localhost:3080/`, and any other value unchanged. */
function hostOfOrigin(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return /^\s*(?:https?:\/\/)?([^/?#:@\\\s]+)(?::\d{1,5})?\/?\s*$/i.exec(text)?.[1] ?? text
}

/** Returns the values with the stored line ends. Browsers end lines with CR LF. */
function withLineFeeds(values: Fields): Fields {
  const text = ([name, value]: [string, unknown]) => [name, String(value).replaceAll('\r\n', '\n')]
  const sent = Object.entries(values).filter(([name, value]) => name in noAppLinks && typeof value === 'string')
  return { ...values, ...Object.fromEntries(sent.map(text)) }
}

function newDomainFields(state: FormState): Html {
  const name = textField(state, {
    name: 'name',
    label: domainLabels.name,
    help: 'For example, go.example.com. To try Waymark on this machine, use localhost.',
    isRequired: true,
    isCode: true,
    hasFocus: state.violations.length === 0,
  })
  return html`${name}${settingFields(state)}`
}

/** Explains why the form has no field for the name. */
function fixedName(id: number, name: string): Html {
  return html`<div class="field"><strong>${domainLabels.name}</strong><p><bdi>${name}</bdi></p>
<p class="help">A name can’t be changed, because short links that people already have would stop working. <a href="${home}/new">Add the new name</a> as another domain, then <a href="/app/links/move?domain_id=${id}&amp;archived=any">move the links</a> to it.</p></div>`
}

function settingFields(state: FormState): Html {
  return html`${textField(state, {
    name: 'homepage_url',
    label: domainLabels.homepage_url,
    type: 'url',
    help: 'Where visitors go when they open the domain without an alias.',
  })}${textField(state, {
    name: 'not_found_url',
    label: domainLabels.not_found_url,
    type: 'url',
    help: 'Where visitors go when a link doesn’t exist. Leave it empty to show a plain “Link not found” page.',
  })}${appLinkFieldset(state)}`
}
