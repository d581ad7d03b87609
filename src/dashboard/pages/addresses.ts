/** A link's addresses: their section on its page, the form that adds one, and the question before one is deleted. */
import { allows } from '../../access/actor.ts'
import { found } from '../../errors.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { LinkActions } from '../../links/actions.ts'
import { AddressActions } from '../../links/address-actions.ts'
import { showAddress } from '../../links/address-schema.ts'
import { findAddresses, maxAddresses } from '../../links/addresses.ts'
import type { Link } from '../../links/schema.ts'
import { linkLabels } from '../../links/schema.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { domainChoice, loadChoices } from '../choices.ts'
import { restorableNote } from '../notice-messages.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { copyButton, onceField, submitButton } from '../parts/buttons.ts'
import { checkbox, collapsibleSection, FormState, selectField, textField } from '../parts/fields.ts'
import { shortUrlParts, shortUrlText } from '../parts/links.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'
import { type Column, table } from '../parts/table.ts'
import { formHandler } from '../record-forms.ts'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly actions: { readonly links: LinkActions }
}

export const exactHelp = 'Capital letters matter: Tea and tea can be two links. Without this, both open this link.'

/** Renders the box of the question before links move to another domain. */
export function keepAddressesBox(isChecked: boolean): Html {
  return checkbox(new FormState({ keep_addresses: isChecked ? 'true' : '' }), {
    name: 'keep_addresses',
    label: 'Keep the old addresses working',
    help: 'Each link then opens at both addresses. Keep them if they are printed or shared.',
  })
}

/** What the section shows about the main address, whose id is null, and each further one. */
type Shown = Pick<Link, 'short_url' | 'exact' | 'legacy' | 'clicks'> & { readonly id: number | null }

/** Finds the link's further addresses, as the API shows them. */
async function loadShown({ storage, shortUrl }: Services, account: number, link: number) {
  const stored = (await findAddresses(storage, account, [link])).get(link) ?? []
  return stored.map((address) => showAddress(address, shortUrl))
}

/** Returns one of the link's further addresses. Throws `not_found`. */
export async function findShown(services: Services, account: number, link: number, id: unknown) {
  const all = await loadShown(services, account, link)
  const address = all.find((each) => String(each.id) === id)
  return found(address, 'address')
}

/** Renders the section. `state` is the form that adds an address. */
export async function addressesSection(
  request: PageRequest,
  link: Link,
  services: Services,
  state: FormState | null,
): Promise<Html> {
  const isWriter = allows(request.actor, 'links:write')
  const further = await loadShown(services, request.account, link.id)
  const others = further.reduce((sum, { clicks }) => sum + clicks, 0)
  const main: Shown = { ...link, id: null, clicks: Math.max(0, link.clicks - others) }
  const path = `/app/links/${link.id}`
  const columns: Column<Shown>[] = [
    { label: 'Address', kind: 'lead', cell: addressCell },
    { label: 'Clicks', kind: 'number', cell: ({ clicks }) => formatCount(clicks) },
    {
      label: 'QR code',
      isPlain: true,
      cell: ({ id, short_url }) =>
        html`<a href="${path}/qr?format=svg&amp;size=1024&amp;download=1${id && html`&amp;address_id=${id}`}">QR code<span class="hidden-text"> for ${shortUrlText(short_url)}</span></a>`,
    },
    {
      label: 'Actions',
      kind: 'menu',
      cell: ({ id }) => (id && isWriter ? confirmLink('Delete', `${path}/addresses/${id}/delete`) : null),
    },
  ]
  const list = table({ caption: 'Addresses', columns, rows: [main, ...further] })
  const form = isWriter ? await additionForm(request, link, services, further.length, state) : null
  return html`<section id="addresses"><h2>Addresses</h2>${list}${form}</section>`
}

function addressCell({ id, short_url, exact, legacy }: Shown): Html {
  const { host, path } = shortUrlParts(short_url)
  const words = [
    ...(id === null ? ['Main address'] : []),
    ...(exact ? ['Exact spelling'] : []),
    ...(legacy ? ['Imported: new aliases can’t look like this'] : []),
  ]
  const chips = words.map((each) => html`<li>${each}</li>`)
  return html`<span class="short"><bdi class="mono lines" dir="ltr">${host}<wbr>${path}</bdi>${copyButton(short_url, shortUrlText(short_url))}</span>${chips.length === 0 ? null : html`<ul class="chips">${chips}</ul>`}`
}

async function additionForm(
  { account, fields }: PageRequest,
  link: Link,
  { storage }: Services,
  count: number,
  given: FormState | null,
): Promise<Html> {
  if (count >= maxAddresses) return html`<p>A link has up to ${maxAddresses} further addresses.</p>`
  const state = given ?? new FormState({ domain_id: String(link.domain_id) })
  const { domains } = await loadChoices(storage, account, { domains: [link.domain_id, fields.domain_id] })
  const domain = selectField(state, {
    name: 'domain_id',
    label: linkLabels.domain_id,
    options: domains.map(domainChoice),
  })
  const alias = textField(state, {
    name: 'alias',
    label: linkLabels.alias,
    help: 'Leave it empty to generate one.',
    isCode: true,
  })
  const exact = checkbox(state, { name: 'exact', label: linkLabels.exact, help: exactHelp })
  const body = html`<form method="post" action="/app/links/${link.id}/addresses" class="form" novalidate>${onceField()}
<p>The same link, with the same destination and settings, at another address. Its clicks also count for the link.</p>
${state.withErrors(html`<div class="joined">${domain}${alias}</div>${exact}`)}
<div class="actions">${submitButton({ label: 'Add address', weight: 'plain' })}</div></form>`
  return collapsibleSection('Add an address', '', given !== null, body)
}

/** Adds the forms. `linkPage` renders the link page with the form that adds an address. */
export function addAddressForms(
  pages: Pages,
  services: Services,
  linkPage: (state: FormState, request: PageRequest) => Promise<PageContent>,
): void {
  const { storage, actions } = services
  const addresses = new AddressActions(storage, actions.links)
  const home = '/app/links/:id/addresses'

  const insert = async (request: PageRequest) => {
    const id = idParam(request, 'link')
    const { domain_id, alias, exact = 'false' } = request.fields
    addresses.onStored(id, await addresses.insertion(request.actor, id, { domain_id, alias, exact })(storage))
    return new Redirect(`/app/links/${id}#addresses`, 'changes')
  }
  pages.post(home, 'links:write', formHandler(linkPage, insert))

  const requested = async (request: PageRequest) => {
    const link = idParam(request, 'link')
    return { link, ...(await findShown(services, request.account, link, request.exchange.params.address_id)) }
  }

  pages.get(`${home}/:address_id/delete`, 'links:write', async (request) => {
    const { link, id, short_url, clicks } = await requested(request)
    const name = shortUrlText(short_url)
    return confirmation({
      title: `Delete the address ${name}?`,
      section: 'links',
      action: `/app/links/${link}/addresses/${id}/delete`,
      consequences: [
        'Visitors can no longer open the link at this address. Its other addresses keep working.',
        `The link keeps the ${quantity(clicks, 'click')} of this address.`,
        restorableNote,
      ],
      verb: `Delete ${name}`,
      cancel: `/app/links/${link}`,
    })
  })

  pages.post(`${home}/:address_id/delete`, 'links:write', async (request) => {
    const { link, id } = await requested(request)
    await addresses.remove(request.actor, link, id)
    return new Redirect(`/app/links/${link}#addresses`, 'changes')
  })
}
