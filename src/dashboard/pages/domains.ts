/** Domains: host names, where they lead, and how many links they have. */
import type { DomainActions } from '../../domains/actions.ts'
import { type Domain, listDomainsQuery } from '../../domains/schema.ts'
import { listDomains } from '../../domains/store.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type Html, html } from '../../http/html.ts'
import { countLinksIn } from '../../links/counts.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { DomainChecks } from '../../reachability/checks.ts'
import { resources } from '../../resources.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { ListState, noRows } from '../list-page.ts'
import { Next, type Pages, type Shown } from '../pages.ts'
import { linkButton, submitButton } from '../parts/buttons.ts'
import { emptyState } from '../parts/empty.ts'
import { textField } from '../parts/fields.ts'
import { filterBar } from '../parts/filters.ts'
import { linksOf } from '../parts/links-count.ts'
import { onceField } from '../parts/once.ts'
import { pagination } from '../parts/pagination.ts'
import { table } from '../parts/table.ts'
import { timeAgo } from '../parts/time.ts'
import { targetOf } from '../parts/truncate.ts'

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
