/** Domains: host names, where they lead, and whether they answer here. */
import type { DomainActions } from '../../domains/actions.ts'
import { type Domain, listDomainsQuery } from '../../domains/schema.ts'
import { findDomain, listDomains } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { listLinks } from '../../links/store.ts'
import type { DomainChecks, Reachability } from '../../reachability/checks.ts'
import { recordsFor, unknownAddress } from '../../reachability/records.ts'
import { resources } from '../../resources.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { ListState, noRows } from '../list-page.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collision, type Difference } from '../parts/collision.ts'
import { confirmation, confirmLink } from '../parts/confirm.ts'
import { emptyState } from '../parts/empty.ts'
import { textField } from '../parts/fields.ts'
import { filterBar } from '../parts/filters.ts'
import { counted } from '../parts/number.ts'
import { pagination } from '../parts/pagination.ts'
import { dnsRecords } from '../parts/records.ts'
import { table } from '../parts/table.ts'
import { timeAgo } from '../parts/time.ts'
import { targetOf } from '../parts/truncate.ts'
import { onceField } from '../submissions.ts'
import { stillAt } from '../versions.ts'
import { withSchemes } from '../web-address.ts'

const home = '/app/domains'
const addressFields = ['homepage_url', 'not_found_url']

export interface DomainPageParts {
  readonly storage: Storage
  readonly actions: DomainActions
  readonly checks: DomainChecks
  /** The public address of the dashboard. */
  readonly address: (exchange: Exchange) => string
}

/** `/app/domains` and what lies below. */
export function domainPages(pages: Pages, { storage, actions, checks, address }: DomainPageParts): void {
  pages.show(home, async ({ account, query }) => {
    const list = new ListState(home, query, listDomainsQuery, resources.domains)
    return listPage(list, await listDomains(storage, account, list.request))
  })

  pages.show(`${home}/new`, async () => newPage(new FormState({})))

  pages.act(home, async ({ account, fields }) => {
    const domain = await attempted(() => actions.insert(account, withSchemes(fields, addressFields)))
    if (domain instanceof Refused) return { ...newPage(new FormState(fields, domain.violations)), status: 422 }
    return new Next(`${home}/${domain.record.id}`, { code: 'domain-made' })
  })

  pages.show(`${home}/:id`, async (asked) => {
    const { record, version } = await domainAsked(asked)
    const found = asked.query.check === undefined ? null : await checks.check(record.name)
    const reach = reachOf(record, URL.parse(address(asked.exchange))?.hostname ?? null, found)
    return editPage(record, new FormState({ ...record, version }), reach)
  })

  pages.act(`${home}/:id`, async (asked) => {
    const { account, fields } = asked
    const { version, ...sent } = fields
    const id = idOf(asked, 'domain')
    const saved = await attempted(() => actions.change(account, id, withSchemes(sent, addressFields), stillAt(version)))
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

function listPage(list: ListState, { rows, total, totalIsExact }: Page<Domain>): Shown {
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

function tableOf(rows: readonly Domain[], list: ListState): Html {
  const { sort_by, sort } = list.query
  const now = Date.now()
  return table({
    caption: 'Domains',
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        sortBy: 'name',
        cell: ({ id, name_unicode }: Domain) =>
          html`<a class="cover" href="${home}/${id}"><bdi>${name_unicode}</bdi></a>`,
      },
      {
        label: 'Homepage',
        width: 'rest',
        leaves: 1,
        cell: ({ homepage_url }) => (homepage_url === null ? 'None' : targetOf(homepage_url, 40)),
      },
      {
        label: 'Links',
        width: 'small',
        cell: ({ id }) => html`<a href="/app/links?domain_id=${id}">Show links</a>`,
        isPlain: true,
      },
      { label: 'Added', sortBy: 'id', cell: ({ created_at }) => timeAgo(created_at, now) },
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

function addresses(state: FormState): Html {
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

const answers: Readonly<Record<Reachability['answer'], string>> = {
  here: 'It answers here: short links on it work.',
  elsewhere:
    'Something else answers: another server, or a proxy that does not reach this one. If you have just changed the records, wait until the old ones expire.',
  'no answer': 'The name has an address, but nothing answers there. Check that the ports of this server are open.',
  'certificate error': 'It answers, but its certificate is not valid for this name. Get one that is.',
  'no DNS':
    'The name has no address yet. Set the record below, then check again: a new record can take an hour to reach everyone.',
}

/** The DNS records to set, and what a check has found. */
function reachOf({ id, name }: Domain, publicHost: string | null, checked: Reachability | null): Html {
  const verdict =
    checked === null
      ? null
      : html`<p class="reach ${checked.answer === 'here' ? 'success' : 'warning'}" role="status">${answers[checked.answer]}</p>`
  const records = recordsFor(name, publicHost, []).map((record) => ({
    ...record,
    isWords: record.value === unknownAddress,
  }))
  const advice = isOwnMachine(name)
    ? html`<p>Every machine uses this name for itself: there is nothing to set, and short links on it work on this machine only.</p>`
    : html`<p>Set this record where you manage ${name}:</p>${dnsRecords(records)}`
  return html`<section id="dns"><h2>DNS</h2>${verdict}${advice}
<div class="actions">${linkButton({ label: checked === null ? 'Check that it works' : 'Check again', href: `${home}/${id}?check=now` })}</div></section>`
}

/** RFC 6761 §6.3. */
function isOwnMachine(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function editPage(domain: Domain, state: FormState, above: Html | null): Shown {
  const path = `${home}/${domain.id}`
  const body = html`${above}<section id="edit"><h2>Where it leads</h2><form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.of('version').value })}${state.withErrors(addresses(state))}
<div class="actions">${submitButton({ label: 'Save' })}${confirmLink('Delete', `${path}/delete`)}</div></form></section>`
  const action = linkButton({
    label: 'New link',
    href: `/app/links/new?domain_id=${domain.id}`,
    weight: 'primary',
    icon: 'plus',
  })
  return {
    title: domain.name_unicode,
    heading: html`<bdi>${domain.name_unicode}</bdi>`,
    place: 'domains',
    action,
    body,
  }
}

function differences(sent: Fields, stored: Domain): Difference[] {
  const all = [
    { label: 'Homepage', yours: String(sent.homepage_url ?? ''), theirs: stored.homepage_url ?? '' },
    { label: 'For unknown links', yours: String(sent.not_found_url ?? ''), theirs: stored.not_found_url ?? '' },
  ]
  return all.filter(({ yours, theirs }) => yours !== theirs)
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
