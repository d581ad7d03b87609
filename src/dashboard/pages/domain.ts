/** One domain: whether it leads here, its statistics, and where it leads itself. */
import type { Domain } from '../../domains/schema.ts'
import { findDomain } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { listLinks } from '../../links/store.ts'
import { resources } from '../../resources.ts'
import type { Page } from '../../storage/port.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { groupStatistics } from '../group-statistics.ts'
import { ListState } from '../list-page.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collision, type Difference } from '../parts/collision.ts'
import { confirmation } from '../parts/confirm.ts'
import { menu } from '../parts/menu.ts'
import { counted } from '../parts/number.ts'
import { stillAt } from '../versions.ts'
import { dnsPart } from './domain-dns.ts'
import { addresses, type DomainPageParts } from './domains.ts'

const home = '/app/domains'

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
