/** The passkeys of the person who has signed in. */

import { found } from '../../errors.ts'
import { form, optional } from '../../forms/form.ts'
import { boundedText } from '../../forms/rules.ts'
import { type Html, html } from '../../http/html.ts'
import { describeBrowser } from '../../sign-in/browser.ts'
import type { Passkeys } from '../../sign-in/passkeys/passkeys.ts'
import type { PasskeyPlace } from '../../sign-in/passkeys/relying-party.ts'
import {
  findPasskey,
  insertPasskey,
  type ListedPasskey,
  listPasskeys,
  maxPasskeys,
  passkeyRefused,
  removePasskey,
} from '../../sign-in/passkeys/store.ts'
import type { Storage } from '../../storage/port.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect, signedInMember } from '../page.ts'
import { linkButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'
import { passkeyForm, passkeyLink, requirePasskeys, sendOptions } from '../parts/passkey-form.ts'
import { table } from '../parts/table.ts'
import { formHandler, valuesIn } from '../record-forms.ts'

const profile = '/app/profile'
const home = `${profile}/passkeys`

export interface PasskeyServices {
  readonly storage: Storage
  readonly passkeys: Passkeys
}

export function addPasskeyPages(pages: Pages, { storage: db, passkeys }: PasskeyServices): void {
  const showNew = (state: FormState, { exchange }: PageRequest) =>
    newPage(state, passkeys.place(exchange, `${home}/new`))
  pages.get(`${home}/new`, null, async (request) => {
    const isFull = (await listPasskeys(db, signedInMember(request.session).person.id)).length >= maxPasskeys
    return isFull ? new Redirect(profile) : showNew(new FormState({ name: describeBrowser(request.exchange) }), request)
  })

  pages.getFile(`${home}/options`, null, async (request) => {
    const { person, name } = signedInMember(request.session)
    const rp = requirePasskeys(passkeys, request.exchange)
    return sendOptions(request.exchange, await passkeys.registrationOptions(rp, { person: person.id }, name))
  })

  const create = async (request: PageRequest) => {
    const { credential, ...fields } = request.fields
    const person = signedInMember(request.session).person.id
    const name = valuesIn(passkeyFields, fields).name ?? describeBrowser(request.exchange)
    const verified = await passkeys.verifyRegistration(
      requirePasskeys(passkeys, request.exchange),
      { person },
      credential,
    )
    if (verified === undefined) throw passkeyRefused
    await db.write((tx) => insertPasskey(tx, person, verified, name))
    return new Redirect(profile, { code: 'passkey-created' })
  }
  pages.post(home, null, formHandler(showNew, create))

  pages.get(`${home}/:id/remove`, null, async (request) => {
    const passkey = await findPasskey(db, signedInMember(request.session).person.id, idParam(request, 'passkey'))
    return removePage(found(passkey, 'passkey'))
  })

  pages.post(`${home}/:id/remove`, null, async (request) => {
    const isRemoved = await removePasskey(db, signedInMember(request.session).person.id, idParam(request, 'passkey'))
    return found(isRemoved ? new Redirect(profile, { code: 'passkey-removed' }) : undefined, 'passkey')
  })
}

const nameRule = boundedText(255, 'What the passkey is called in the list.')
const passkeyFields = form<{ name: string | null }>({ name: optional(nameRule, null) })

function newPage(state: FormState, place: PasskeyPlace | null): PageContent {
  const name = textField(state, {
    name: 'name',
    label: 'Name',
    help: 'The device or password manager that stores the passkey.',
    maxLength: 255,
    hasFocus: state.violations.length === 0,
  })
  const shown = { action: home, options: `${home}/options`, ceremony: 'create', label: 'Create passkey' } as const
  const form = place === null ? unavailable : passkeyForm(state, { ...shown, place, controls: name })
  const body = html`<p>${purpose}</p><p class="without-script">This needs JavaScript.</p>
${form}`
  return { title: 'Add a passkey', section: 'profile', body }
}

const purpose = 'A passkey signs you in with your fingerprint, your face or your device’s PIN, without a sign-in link.'

/** Renders the button that adds a passkey, or the link to where it works. */
function addition(place: PasskeyPlace): Html {
  const button = linkButton({ label: 'Add passkey', href: `${home}/new`, icon: 'plus' })
  return place.isHere ? html`<div class="actions">${button}</div>` : html`<p>${passkeyLink(place)}</p>`
}

/** Renders the profile section; null if a key has signed in. */
export async function passkeySection(
  { storage, passkeys }: PasskeyServices,
  { session, exchange }: PageRequest,
): Promise<Html | null> {
  if (session.member === null) return null
  const own = await listPasskeys(storage, session.member.person.id)
  const place = passkeys.place(exchange, `${home}/new`)
  const isFull = own.length >= maxPasskeys
  return html`<section id="passkeys"><h2>Passkeys</h2><p>${purpose}</p>
${own.length === 0 ? null : passkeyTable(own)}${place === null ? unavailable : isFull ? full : addition(place)}</section>`
}

const unavailable = html`<p>Passkeys work only if the dashboard has a URL with HTTPS. Ask the administrator of this server to set <code>BASE_URL</code>.</p>`
const full = html`<p>You have ${maxPasskeys} passkeys, which is the maximum. Remove one to add another.</p>`

/** Renders the offer on the overview of a new account; null if the person has a passkey, or browsers allow none. */
export async function passkeyOffer(
  { storage, passkeys }: PasskeyServices,
  { session, exchange }: PageRequest,
): Promise<Html | null> {
  const place = passkeys.place(exchange, `${home}/new`)
  if (session.member === null || place === null) return null
  if ((await listPasskeys(storage, session.member.person.id)).length > 0) return null
  return html`<section class="stack"><h2>Sign in faster next time</h2><p>${purpose}</p>${addition(place)}</section>`
}

function passkeyTable(passkeys: readonly ListedPasskey[]): Html {
  const now = Date.now()
  return table({
    caption: 'Passkeys',
    columns: [
      { label: 'Name', kind: 'lead', cell: ({ name }: ListedPasskey) => html`<bdi>${name}</bdi>` },
      { label: 'Created', width: 'large', cell: ({ created_at }) => timeAgo(created_at, now) },
      { label: 'Last used', cell: ({ last_used_at: at }) => (at === null ? 'Never' : timeAgo(at, now)) },
      {
        label: 'Actions',
        kind: 'menu',
        width: 'large',
        cell: ({ id }) => confirmLink('Remove', `${home}/${id}/remove`),
      },
    ],
    rows: passkeys,
  })
}

function removePage({ id, name }: ListedPasskey): PageContent {
  return confirmation({
    title: `Remove ${name}?`,
    section: 'profile',
    action: `${home}/${id}/remove`,
    consequences: [
      'This passkey can’t sign you in anymore. You stay signed in here and in other browsers.',
      'You can remove your last passkey too: a sign-in link from the server always works. Delete the passkey from your device as well.',
    ],
    verb: `Remove ${name}`,
    cancel: profile,
  })
}
