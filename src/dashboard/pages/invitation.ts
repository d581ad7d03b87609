/** Invitations to the account: the form, the page that shows a new link once, and revocation. */

import type { Exchange } from '../../http/exchange.ts'
import { html } from '../../http/html.ts'
import { exactTime } from '../../lib/format.ts'
import { createInvitation, deleteInvitation, type IssuedInvitation } from '../../members/invitations.ts'
import { storeInvitation } from '../../members/schema.ts'
import { invitationUrl } from '../../sessions/token.ts'
import type { Storage } from '../../storage/port.ts'
import { idParam, type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from '../page.ts'
import { copyable, copyButton, linkButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { accessEndField, roleField } from '../parts/people.ts'
import { formZone, withUtcTimes } from '../parts/time-zones.ts'
import { formHandler, newRecordForm, valuesIn } from '../record-forms.ts'

const home = '/app/people'

interface Services {
  readonly storage: Storage
  readonly dashboardUrl: (exchange: Exchange) => string
}

export function addInvitationForm(pages: Pages, { storage: db, dashboardUrl }: Services): void {
  pages.get(`${home}/invite`, 'members:write', async (request) =>
    invitePage(new FormState({ role: 'editor' }), request),
  )

  const invite: PageHandler = async (request) => {
    const { actor, exchange, fields } = request
    const values = withUtcTimes(fields, ['access_ends_at'], formZone(request))
    const issued = await createInvitation(db, actor, valuesIn(storeInvitation, values))
    const page = issuedPage(issued, invitationUrl(dashboardUrl(exchange), issued.secret), request)
    // The secret is not stored, so a repeat cannot show it again.
    return { ...page, status: 201, repeatRedirect: new Redirect(home, { code: 'invitation-created-before' }) }
  }
  pages.post(home, 'members:write', formHandler(invitePage, invite))

  pages.post(`${home}/invitations/:id/revoke`, 'members:write', async (request) => {
    await deleteInvitation(db, request.actor, idParam(request, 'invitation'))
    return new Redirect(home, 'changes')
  })
}

function invitePage(state: FormState, request: PageRequest): PageContent {
  const name = textField(state, { name: 'name', label: 'Name (optional)', hasFocus: state.violations.length === 0 })
  const email = textField(state, {
    name: 'email',
    label: 'Email address (optional)',
    help: 'Single sign-on admits only someone with this address. A passkey doesn’t prove an address. Waymark sends no mail.',
  })
  const controls = html`${name}${email}${roleField(state)}${accessEndField(state, formZone(request))}`
  const body = newRecordForm(home, 'Create invitation', state.withErrors(controls))
  return { title: 'Invite someone', section: 'people', body }
}

function issuedPage({ invitation: { record } }: IssuedInvitation, url: string, request: PageRequest): PageContent {
  const { role, access_ends_at, expires_at } = record
  const name = record.name ?? record.email
  const account = request.session.account.name
  const zone = formZone(request)
  const until = exactTime(expires_at, zone)
  const end = access_ends_at === null ? '' : ` Your access ends: ${exactTime(access_ends_at, zone)}.`
  const text = `${record.name === null ? 'Hello' : `Hello ${record.name}`},

you’re invited to “${account}” on Waymark as ${role}. Open this link to join:

${url}

The link works once, until ${until}.${end} Please don’t forward it.`
  const localHint = /^https?:\/\/(?:[^/]*\.)?localhost[:/]/.test(url)
    ? html`<p class="attention">This link works only on this machine. For other machines, set <code>BASE_URL</code> to the public URL of the dashboard.</p>`
    : null
  const body = html`<p>Copy this link now, because it’s shown only once. The first person who opens it joins as ${role}.</p>
${copyable(url, 'the link', 'Copy link')}${localHint}
<section class="stack"><h2>Text to send</h2><p class="lines"><bdi>${text}</bdi></p><div class="actions">${copyButton(text, 'the text', 'Copy text')}</div></section>
<div class="actions">${linkButton({ label: 'Done', href: home, weight: 'primary' })}${linkButton({ label: 'Invite someone else', href: `${home}/invite` })}</div>`
  const title = name === null ? 'Invitation' : `Invitation for ${name}`
  const heading = name === null ? title : html`Invitation for <bdi>${name}</bdi>`
  return { title, heading, section: 'people', body }
}
