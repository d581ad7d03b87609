/** Domains: host names, where they lead, and how many links they have. */
import type { DomainActions } from '../../domains/actions.ts'
import { type Domain, listDomainsQuery } from '../../domains/schema.ts'
import { findDomain, listDomains } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { countLinksIn } from '../../links/counts.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { addressesIn, type DomainChecks, type Reachability } from '../../reachability/checks.ts'
import type { DnsRecord } from '../../reachability/dns.ts'
import { recordsFor } from '../../reachability/records.ts'
import { resources } from '../../resources.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempted, FormState, Refused, stillAt } from '../form-state.ts'
import { ListState, noRows } from '../list-state.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { copyButton, hiddenFields, linkButton, menu, onceField, submitButton } from '../parts/buttons.ts'
import { textField } from '../parts/fields.ts'
import { counted, timeAgo } from '../parts/format.ts'
import { linksOf, targetOf } from '../parts/links.ts'
import { filterBar, pagination } from '../parts/list-controls.ts'
import { collision, confirmation, type Difference, emptyState } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { groupStatistics } from '../statistics.ts'

const home = '/app/domains'

export interface DomainPageParts {
  readonly storage: Storage
  readonly actions: DomainActions
  readonly checks: DomainChecks
  readonly shortUrl: ShortUrl
  /** The public address of the dashboard. */
  readonly address: (exchange: Exchange) => string
}

/** `/app/domains` and the form that adds one. */
export function domainPages(pages: Pages, { storage, actions }: Pick<DomainPageParts, 'storage' | 'actions'>): void {
  pages.show(home, async ({ account, query }) => {
    const list = new ListState(home, query, listDomainsQuery, resources.domains)
    const { rows, ...counted } = await listDomains(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const links = await countLinksIn(storage, account, 'domain_id', ids)
    const lines = rows.map((domain) => ({ domain, links: links.get(domain.id) ?? 0 }))
    return listPage(list, { rows: lines, ...counted })
  })

  pages.show(`${home}/new`, async () => newPage(new FormState({})))

  pages.act(home, async ({ account, fields }) => {
    const domain = await attempted(() => actions.insert(account, fields))
    if (domain instanceof Refused) return { ...newPage(new FormState(fields, domain.violations)), status: 422 }
    return new Next(`${home}/${domain.record.id}`, { code: 'domain-made' })
  })
}

interface Line {
  readonly domain: Domain
  readonly links: number
}

function listPage(list: ListState, { rows, total, totalIsExact }: Page<Line>): Shown {
  const { query } = list
  const action = linkButton({ label: 'Add a domain', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  if (total === 0 && query.search === null) {
    const why = 'A domain is a host name that you own, such as go.example.com. Your short links begin with it.'
    return { title: 'Domains', place: 'domains', body: emptyState({ title: 'No domains yet', why, action }) }
  }
  const search = { name: 'search', label: 'Search domains', value: query.search ?? '' }
  const kept = { sort_by: list.valueOf('sort_by'), sort: list.valueOf('sort') }
  const pages = { page: list.page, perPage: query.per_page, total, totalIsExact }
  const results =
    rows.length === 0
      ? noRows(list, 'No domain has this in its name.')
      : html`${tableOf(rows, list)}${pagination({ ...pages, href: (page) => list.pageHref(page) })}`
  const body = html`${filterBar({ action: home, search, filters: [], kept, results: 'results' })}
<div id="results" class="results">${results}</div>`
  return { title: 'Domains', place: 'domains', action, body }
}

function tableOf(rows: readonly Line[], list: ListState): Html {
  const { sort_by, sort } = list.query
  const now = Date.now()
  return table({
    caption: 'Domains',
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        sortBy: 'name',
        cell: ({ domain }: Line) =>
          html`<a class="cover" href="${home}/${domain.id}"><bdi>${domain.name_unicode}</bdi></a>`,
      },
      {
        label: 'Homepage',
        width: 'rest',
        leaves: 1,
        cell: ({ domain: { homepage_url: url } }) => (url === null ? 'None' : targetOf(url, 40)),
      },
      {
        label: 'Links',
        width: 'small',
        cell: ({ domain, links }) => linksOf(`domain_id=${domain.id}`, links),
        isPlain: true,
      },
      { label: 'Added', sortBy: 'id', cell: ({ domain }) => timeAgo(domain.created_at, now) },
    ],
    rows,
    sorting: { by: sort_by, isDescending: sort === 'desc', href: (by, isDown) => list.sortHref(by, isDown) },
  })
}

function newPage(state: FormState): Shown {
  const name = textField({
    name: 'name',
    label: 'Host name',
    help: 'Such as go.example.com. On this machine, localhost will do.',
    state: state.of('name'),
    isRequired: true,
    isCode: true,
    hasFocus: state.violations.length === 0,
  })
  const body = html`<form method="post" action="${home}" class="form" data-guard novalidate>${onceField()}${state.withErrors(html`${name}${addresses(state)}`)}
<div class="actions">${submitButton({ label: 'Add domain' })}<a class="button plain" href="${home}">Cancel</a></div></form>`
  return { title: 'Add a domain', place: 'domains', body }
}

/** The fields of where a domain leads itself. */
export function addresses(state: FormState): Html {
  return html`${textField({
    name: 'homepage_url',
    label: 'Homepage',
    type: 'url',
    help: 'Where visitors go who open the domain itself, without a link.',
    state: state.of('homepage_url'),
  })}${textField({
    name: 'not_found_url',
    label: 'For unknown links',
    type: 'url',
    help: 'Where visitors go when the link does not exist. Leave it empty to show a plain “There is no such link” page.',
    state: state.of('not_found_url'),
  })}`
}

/** `/app/domains/{id}` and what lies below. */
export function domainPage(pages: Pages, { storage, actions, checks, address, shortUrl }: DomainPageParts): void {
  pages.show(`${home}/:id`, async (asked) => {
    const { account, query, exchange } = asked
    const { record } = await domainAsked(asked)
    const path = `${home}/${record.id}`
    const subject = { scope: 'domain', id: record.id } as const
    const publicHost = URL.parse(address(exchange))?.hostname ?? null
    const [dns, { part, status }] = await Promise.all([
      dnsPart({ domain: record, publicHost, checks, isAsked: query.check !== undefined }),
      groupStatistics({ db: storage, shortUrl, account, subject, query, path }),
    ])
    return { ...namesOf(record), place: 'domains', action: headActions(record), body: html`${dns}${part}`, status }
  })

  pages.show(`${home}/:id/edit`, async (asked) => {
    const { record, version } = await domainAsked(asked)
    return editPage(record, new FormState({ ...record, version }), null)
  })

  pages.act(`${home}/:id`, async (asked) => {
    const { account, fields } = asked
    const { version, ...sent } = fields
    const id = idOf(asked, 'domain')
    const saved = await attempted(() => actions.change(account, id, sent, stillAt(version)))
    if (!(saved instanceof Refused)) return new Next(`${home}/${id}`, { code: 'domain-saved' })
    const now = await domainAsked(asked)
    const state = new FormState({ ...fields, version: now.version }, saved.violations)
    const clash = saved.isCollision ? collision(differences(sent, now.record)) : null
    return { ...editPage(now.record, state, clash), status: saved.isCollision ? 409 : 422 }
  })

  pages.show(`${home}/:id/delete`, async (asked) => {
    const { record } = await domainAsked(asked)
    const filter = { domain_id: String(record.id), per_page: '10' }
    const { request } = new ListState('', filter, listLinksQuery, resources.links)
    return deletePage(record, await listLinks(storage, asked.account, request))
  })

  pages.act(`${home}/:id/delete`, async (asked) => {
    await actions.remove(asked.account, idOf(asked, 'domain'), { links: 'delete' }, null)
    return new Next(home, { code: 'domain-deleted' })
  })

  async function domainAsked(asked: Asked) {
    return found(await findDomain(storage, asked.account, idOf(asked, 'domain')), 'domain')
  }
}

function namesOf({ name_unicode }: Domain): { readonly title: string; readonly heading: Html } {
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

function editPage(domain: Domain, state: FormState, clash: Html | null): Shown {
  const path = `${home}/${domain.id}`
  const body = html`${clash}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.of('version').value })}${state.withErrors(addresses(state))}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: path })}</div></form>`
  const { title, heading } = namesOf(domain)
  return { title: `Edit ${title}`, heading: html`Edit ${heading}`, place: 'domains', body }
}

function differences(sent: Fields, stored: Domain): Difference[] {
  const all = [
    { label: 'Homepage', yours: sent.homepage_url, theirs: stored.homepage_url ?? '' },
    { label: 'For unknown links', yours: sent.not_found_url, theirs: stored.not_found_url ?? '' },
  ]
  return all.filter((each): each is Difference => typeof each.yours === 'string' && each.yours !== each.theirs)
}

function deletePage({ id, name_unicode }: Domain, { total, totalIsExact }: Page<unknown>): Shown {
  const links = `${totalIsExact ? '' : 'more than '}${counted(total, 'link')}`
  const title = total === 0 ? `Delete ${name_unicode}?` : `Delete ${name_unicode} and its ${links}?`
  const body = confirmation({
    action: `${home}/${id}/delete`,
    consequences: ['Visitors will see a 404 at once. This cannot be undone.'],
    verb: html`Delete ${name_unicode}`,
    cancel: `${home}/${id}`,
  })
  return { title, place: 'domains', body }
}

interface DnsAsked {
  readonly domain: Domain
  /** The host by which the dashboard is reached; null if none is known. */
  readonly publicHost: string | null
  readonly checks: DomainChecks
  /** Whether to check now. */
  readonly isAsked: boolean
}

const answers: Readonly<Record<Reachability['answer'], string>> = {
  here: 'It answers here: short links on it work.',
  elsewhere:
    'Something else answers: another server, or a proxy that does not reach this one. If you have just changed the records, wait until the old ones expire.',
  'no answer': 'The name has an address, but nothing answers there. Check that the ports of this server are open.',
  'certificate error': 'It answers, but its certificate is not valid for this name. Get one that is.',
  'no DNS':
    'The name has no address yet. Set what stands below, then check again: a new record can take an hour to reach everyone.',
}

/** The DNS records to set, and what a check has found. */
export async function dnsPart(asked: DnsAsked): Promise<Html> {
  const { domain, checks, isAsked } = asked
  const { id, name } = domain
  const checked = isAsked ? await checks.check(name) : null
  const verdict =
    checked === null
      ? null
      : html`<p class="reach ${checked.answer === 'here' ? 'success' : 'warning'}" role="status">${answers[checked.answer]}</p>`
  const advice = isOwnMachine(name)
    ? html`<p>Every machine uses this name for itself: there is nothing to set, and short links on it work on this machine only.</p>`
    : adviceFor(domain, await recordsOf(asked, checked))
  return html`<section id="dns"><h2>DNS</h2>${verdict}${advice}
<div class="actions">${linkButton({ label: checked === null ? 'Check that it works' : 'Check again', href: `${home}/${id}?check=now` })}</div></section>`
}

function adviceFor({ name, name_unicode }: Domain, records: readonly DnsRecord[]): Html {
  const where = html`Where you manage the DNS of <bdi>${name_unicode}</bdi>`
  if (records.length > 0)
    return html`<p>${where}, set ${records.length === 1 ? 'this record' : 'these records'}:</p>${dnsRecords(records)}`
  return html`<p>${where}, set an A record for <code>${name}</code> with the public IPv4 address of this server. If it has a public IPv6 address as well, set an AAAA record with that.</p>`
}

/**
 * A CNAME needs no address; else they are those of the public host, and of the name itself if it was just found to lead here. The
 * DNS is waited for only when a check was asked for: it may be silent, and the page is there for more.
 */
async function recordsOf(asked: DnsAsked, checked: Reachability | null): Promise<readonly DnsRecord[]> {
  const { domain, publicHost, checks, isAsked } = asked
  const plain = recordsFor(domain.name, publicHost, [])
  if (plain.length > 0) return plain
  const host = publicHost ?? ''
  const ofHost = isAsked ? await checks.addressesOf(host) : checks.knownAddressesOf(host)
  const own = checked?.answer === 'here' ? addressesIn(checked.records) : []
  return recordsFor(domain.name, publicHost, [...ofHost, ...own])
}

/** RFC 6761 §6.3. */
function isOwnMachine(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/** DNS records to set, each with buttons that copy its name and its value. */
export function dnsRecords(records: readonly DnsRecord[]): Html {
  return table({
    caption: 'DNS records',
    rows: records,
    columns: [
      { label: 'Type', cell: ({ type }) => type },
      { label: 'Name', cell: ({ name }) => copied(name, 'the name') },
      { label: 'Value', cell: ({ value }) => copied(value, 'the value') },
    ],
  })
}

function copied(text: string, what: string): Html {
  return html`<span class="short"><code>${text}</code>${copyButton(text, what)}</span>`
}
