/** Domain pages: the list, statistics, DNS records, and forms. */
import type { DomainActions } from '../../domains/actions.ts'
import { type Domain, listDomainsQuery } from '../../domains/schema.ts'
import { findDomain, listDomains } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { countLinksIn, listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { addressesIn, type DomainChecks, type Reachability } from '../../reachability/checks.ts'
import type { DnsRecord } from '../../reachability/dns.ts'
import { recordsFor } from '../../reachability/dns.ts'
import { resources } from '../../resources.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempt, FormState, preconditionFrom, Rejection } from '../form-state.ts'
import { ListState, noRowsMessage } from '../list-state.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../pages.ts'
import { copyButton, hiddenFields, linkButton, menu, onceField, submitButton } from '../parts/buttons.ts'
import { textField } from '../parts/fields.ts'
import { quantity, timeAgo } from '../parts/format.ts'
import { destination, linkCount } from '../parts/links.ts'
import { filterBar, pagination } from '../parts/list-controls.ts'
import { confirmation, conflictMessage, type Difference, emptyState } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { groupStatistics } from '../statistics.ts'

const home = '/app/domains'

interface DomainServices {
  readonly storage: Storage
  readonly actions: DomainActions
  readonly checks: DomainChecks
  readonly shortUrl: ShortUrl
  /** Returns the public URL of the dashboard. */
  readonly dashboardUrl: (exchange: Exchange) => string
}

/** Adds the list of domains and the form for a new domain. */
export function addDomainListPages(
  pages: Pages,
  { storage, actions }: Pick<DomainServices, 'storage' | 'actions'>,
): void {
  pages.get(home, async ({ account, query }) => {
    const list = new ListState(home, query, listDomainsQuery, resources.domains)
    const { rows, ...counted } = await listDomains(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const links = await countLinksIn(storage, account, 'domain_id', ids)
    const lines = rows.map((domain) => ({ domain, links: links.get(domain.id) ?? 0 }))
    return listPage(list, { rows: lines, ...counted })
  })

  pages.get(`${home}/new`, async () => newPage(new FormState({})))

  pages.post(home, async ({ account, fields }) => {
    const domain = await attempt(() => actions.insert(account, fields))
    if (domain instanceof Rejection) return { ...newPage(new FormState(fields, domain.violations)), status: 422 }
    return new Redirect(`${home}/${domain.record.id}`, { code: 'domain-created' })
  })
}

interface Row {
  readonly domain: Domain
  readonly links: number
}

function listPage(list: ListState, { rows, total, totalIsExact }: Page<Row>): PageContent {
  const { query } = list
  const action = linkButton({ label: 'Add a domain', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  if (total === 0 && query.search === null) {
    const why = 'A domain is a host name that you own, such as go.example.com. Your short links begin with it.'
    return { title: 'Domains', place: 'domains', body: emptyState({ title: 'No domains yet', why, action }) }
  }
  const search = { name: 'search', label: 'Search domains', value: query.search ?? '' }
  const preserved = { sort_by: list.filterValue('sort_by'), sort: list.filterValue('sort') }
  const pages = { page: list.page, perPage: query.per_page, total, totalIsExact }
  const results =
    rows.length === 0
      ? noRowsMessage(list, 'No domain has this in its name.')
      : html`${domainTable(rows, list)}${pagination({ ...pages, href: (page) => list.pageHref(page) })}`
  const body = html`${filterBar({ action: home, search, filters: [], preserved, results: 'results' })}
<div id="results" class="results">${results}</div>`
  return { title: 'Domains', place: 'domains', action, body }
}

function domainTable(rows: readonly Row[], list: ListState): Html {
  const { sort_by, sort } = list.query
  const now = Date.now()
  return table({
    caption: 'Domains',
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        sortBy: 'name',
        cell: ({ domain }: Row) =>
          html`<a class="cover" href="${home}/${domain.id}"><bdi>${domain.name_unicode}</bdi></a>`,
      },
      {
        label: 'Homepage',
        width: 'rest',
        leaves: 1,
        cell: ({ domain: { homepage_url: url } }) => (url === null ? 'None' : destination(url, 40)),
      },
      {
        label: 'Links',
        width: 'small',
        cell: ({ domain, links }) => linkCount(`domain_id=${domain.id}`, links),
        isPlain: true,
      },
      { label: 'Added', sortBy: 'id', cell: ({ domain }) => timeAgo(domain.created_at, now) },
    ],
    rows,
    sorting: { by: sort_by, isDescending: sort === 'desc', href: (by, isDown) => list.sortHref(by, isDown) },
  })
}

function newPage(state: FormState): PageContent {
  const name = textField({
    name: 'name',
    label: 'Host name',
    help: 'Such as go.example.com. On this machine, localhost will do.',
    state: state.field('name'),
    isRequired: true,
    isCode: true,
    hasFocus: state.violations.length === 0,
  })
  const body = html`<form method="post" action="${home}" class="form" data-guard novalidate>${onceField()}${state.withErrors(html`${name}${urlFields(state)}`)}
<div class="actions">${submitButton({ label: 'Add domain' })}<a class="button plain" href="${home}">Cancel</a></div></form>`
  return { title: 'Add a domain', place: 'domains', body }
}

/** Renders both URL fields. */
function urlFields(state: FormState): Html {
  return html`${textField({
    name: 'homepage_url',
    label: 'Homepage',
    type: 'url',
    help: 'Where visitors go who open the domain itself, without a link.',
    state: state.field('homepage_url'),
  })}${textField({
    name: 'not_found_url',
    label: 'For unknown links',
    type: 'url',
    help: 'Where visitors go when the link does not exist. Leave it empty to show a plain “There is no such link” page.',
    state: state.field('not_found_url'),
  })}`
}

/** Adds `/app/domains/{id}` and the pages below it. */
export function addDomainPages(
  pages: Pages,
  { storage, actions, checks, dashboardUrl, shortUrl }: DomainServices,
): void {
  pages.get(`${home}/:id`, async (request) => {
    const { account, query, exchange } = request
    const { record } = await requestedDomain(request)
    const path = `${home}/${record.id}`
    const subject = { scope: 'domain', id: record.id } as const
    const publicHost = URL.parse(dashboardUrl(exchange))?.hostname ?? null
    const [dns, { part, status }] = await Promise.all([
      dnsSection({ domain: record, publicHost, checks, isCheckRequested: query.check !== undefined }),
      groupStatistics({ db: storage, shortUrl, account, subject, query, path }),
    ])
    return {
      ...titleAndHeading(record),
      place: 'domains',
      action: headActions(record),
      body: html`${dns}${part}`,
      status,
    }
  })

  pages.get(`${home}/:id/edit`, async (request) => {
    const { record, version } = await requestedDomain(request)
    return editPage(record, new FormState({ ...record, version }), null)
  })

  pages.post(`${home}/:id`, async (request) => {
    const { account, fields } = request
    const { version, ...sent } = fields
    const id = idParam(request, 'domain')
    const saved = await attempt(() => actions.change(account, id, sent, preconditionFrom(version)))
    if (!(saved instanceof Rejection)) return new Redirect(`${home}/${id}`, { code: 'domain-saved' })
    const now = await requestedDomain(request)
    const state = new FormState({ ...fields, version: now.version }, saved.violations)
    const conflict = saved.isConflict ? conflictMessage(differences(sent, now.record)) : null
    return { ...editPage(now.record, state, conflict), status: saved.isConflict ? 409 : 422 }
  })

  pages.get(`${home}/:id/delete`, async (request) => {
    const { record } = await requestedDomain(request)
    const filter = { domain_id: String(record.id), per_page: '10' }
    const list = new ListState('', filter, listLinksQuery, resources.links)
    return deletePage(record, await listLinks(storage, request.account, list.request))
  })

  pages.post(`${home}/:id/delete`, async (request) => {
    await actions.remove(request.account, idParam(request, 'domain'), { links: 'delete' }, null)
    return new Redirect(home, { code: 'domain-deleted' })
  })

  async function requestedDomain(request: PageRequest) {
    return found(await findDomain(storage, request.account, idParam(request, 'domain')), 'domain')
  }
}

function titleAndHeading({ name_unicode }: Domain): { readonly title: string; readonly heading: Html } {
  return { title: name_unicode, heading: html`<bdi>${name_unicode}</bdi>` }
}

function headActions({ id, name_unicode }: Domain): Html {
  const create = `/app/links/new?domain_id=${id}`
  return html`<div class="actions">${linkButton({ label: 'Show its links', href: `/app/links?domain_id=${id}` })}
${linkButton({ label: 'Edit', href: `${home}/${id}/edit` })}
${linkButton({ label: 'New link', href: create, weight: 'primary', icon: 'plus' })}
${menu('domain-menu', `More actions for ${name_unicode}`, [
  { label: 'Delete', href: `${home}/${id}/delete`, icon: 'remove', isDangerous: true, inDialog: true },
])}</div>`
}

function editPage(domain: Domain, state: FormState, conflict: Html | null): PageContent {
  const path = `${home}/${domain.id}`
  const body = html`${conflict}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.field('version').value })}${state.withErrors(urlFields(state))}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: path })}</div></form>`
  const { title, heading } = titleAndHeading(domain)
  return { title: `Edit ${title}`, heading: html`Edit ${heading}`, place: 'domains', body }
}

function differences(sent: Fields, stored: Domain): Difference[] {
  const all = [
    { label: 'Homepage', yours: sent.homepage_url, theirs: stored.homepage_url ?? '' },
    { label: 'For unknown links', yours: sent.not_found_url, theirs: stored.not_found_url ?? '' },
  ]
  return all.filter((each): each is Difference => typeof each.yours === 'string' && each.yours !== each.theirs)
}

function deletePage({ id, name_unicode }: Domain, { total, totalIsExact }: Page<unknown>): PageContent {
  const links = `${totalIsExact ? '' : 'more than '}${quantity(total, 'link')}`
  const title = total === 0 ? `Delete ${name_unicode}?` : `Delete ${name_unicode} and its ${links}?`
  const body = confirmation({
    action: `${home}/${id}/delete`,
    consequences: ['Visitors will see a 404 immediately. This cannot be undone.'],
    verb: html`Delete ${name_unicode}`,
    cancel: `${home}/${id}`,
  })
  return { title, place: 'domains', body }
}

interface DnsQuery {
  readonly domain: Domain
  /** The public host; null if it is unknown. */
  readonly publicHost: string | null
  readonly checks: DomainChecks
  readonly isCheckRequested: boolean
}

const verdicts: Readonly<Record<Reachability['answer'], string>> = {
  here: 'It answers here: short links on it work.',
  elsewhere:
    'Something else answers: another server, or a proxy that does not reach this one. If you have just changed the records, wait until the old ones expire.',
  'no answer': 'The name has an address, but nothing answers there. Check that the ports of this server are open.',
  'certificate error': 'It answers, but its certificate is not valid for this name. Get a valid certificate.',
  'no DNS':
    'The name has no address yet. Set the records below, then check again. A new record can take up to an hour to take effect.',
}

/** Renders the DNS records to set, and the result of a check. */
export async function dnsSection(request: DnsQuery): Promise<Html> {
  const { domain, checks, isCheckRequested } = request
  const { id, name } = domain
  const checked = isCheckRequested ? await checks.check(name) : null
  const verdict =
    checked === null
      ? null
      : html`<p class="reach ${checked.answer === 'here' ? 'success' : 'warning'}" role="status">${verdicts[checked.answer]}</p>`
  const advice = isLoopbackName(name)
    ? html`<p>Every machine uses this name for itself: there is nothing to set, and short links on it work on this machine only.</p>`
    : dnsAdvice(domain, await recordsToSet(request, checked))
  return html`<section id="dns"><h2>DNS</h2>${verdict}${advice}
<div class="actions">${linkButton({ label: checked === null ? 'Check that it works' : 'Check again', href: `${home}/${id}?check=now` })}</div></section>`
}

function dnsAdvice({ name, name_unicode }: Domain, records: readonly DnsRecord[]): Html {
  const where = html`Where you manage the DNS of <bdi>${name_unicode}</bdi>`
  if (records.length > 0)
    return html`<p>${where}, set ${records.length === 1 ? 'this record' : 'these records'}:</p>${dnsRecords(records)}`
  return html`<p>${where}, set an A record for <code>${name}</code> with the public IPv4 address of this server. If it has a public IPv6 address as well, set an AAAA record with that.</p>`
}

/**
 * Returns a CNAME record if possible. Otherwise returns the addresses of the public host, and of the domain itself if
 * the check found that it already points here. Queries the DNS only for a requested check, because a slow resolver
 * must not delay the page.
 */
async function recordsToSet(request: DnsQuery, checked: Reachability | null): Promise<readonly DnsRecord[]> {
  const { domain, publicHost, checks, isCheckRequested } = request
  const plain = recordsFor(domain.name, publicHost, [])
  if (plain.length > 0) return plain
  const host = publicHost ?? ''
  const ofHost = isCheckRequested ? await checks.addressesOf(host) : checks.cachedAddressesOf(host)
  const own = checked?.answer === 'here' ? addressesIn(checked.records) : []
  return recordsFor(domain.name, publicHost, [...ofHost, ...own])
}

/** RFC 6761 §6.3. */
function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/** Renders DNS records with buttons that copy their names and values. */
function dnsRecords(records: readonly DnsRecord[]): Html {
  return table({
    caption: 'DNS records',
    rows: records,
    columns: [
      { label: 'Type', cell: ({ type }) => type },
      { label: 'Name', cell: ({ name }) => copyable(name, 'the name') },
      { label: 'Value', cell: ({ value }) => copyable(value, 'the value') },
    ],
  })
}

function copyable(text: string, what: string): Html {
  return html`<span class="short"><code>${text}</code>${copyButton(text, what)}</span>`
}
