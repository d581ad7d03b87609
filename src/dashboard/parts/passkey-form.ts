/** Forms that send a passkey: a script asks the browser for it, and fills in the field `credential`. */
import { Failure } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type Html, html } from '../../http/html.ts'
import { addHeaders, type Sent, sendJson } from '../../http/response.ts'
import type { Passkeys } from '../../sign-in/passkeys/passkeys.ts'
import type { PasskeyPlace, RelyingParty } from '../../sign-in/passkeys/relying-party.ts'
import { responseHeaders } from '../frame.ts'
import { attributes, hiddenFields, submitButton } from './buttons.ts'
import type { FormState } from './fields.ts'

/** The maximum form size in bytes. The longest passkeys take half of it when encoded. */
export const maxPasskeyFormBytes = 16 * 1024

/** Renders the link to the only origin where passkeys work, after a text. */
export function passkeyLink({ url }: PasskeyPlace, text = 'Passkeys work only at'): Html {
  const { origin, protocol } = new URL(url)
  return html`${text} <a href="${url}">${origin}</a>${protocol === 'https:' ? ', with HTTPS' : ''}.`
}

interface PasskeyForm {
  readonly place: PasskeyPlace
  readonly linkText?: string
  /** Where the response of the authenticator is sent. */
  readonly action: string
  /** The path of the options, for GET. */
  readonly options: string
  readonly ceremony: 'create' | 'get'
  /** Whether the browser suggests passkeys before anyone presses the button (conditional mediation). */
  readonly isOffered?: boolean
  /** Whether the form is also sent without a passkey, by browsers without scripts or passkeys. */
  readonly isOptional?: boolean
  readonly label: string
  readonly weight?: 'primary' | 'plain'
  readonly controls?: Html | null
  readonly fields?: Readonly<Record<string, string>>
}

/**
 * Renders the form with the error of the field `credential`, and the link to where passkeys work, of which one is hidden. Without
 * scripts, the form is hidden unless the passkey is optional.
 */
export function passkeyForm(state: FormState, form: PasskeyForm): Html {
  const { place, action, options, ceremony, isOffered = false, isOptional = false, label, weight = 'primary' } = form
  const error = state.violations.find(({ field }) => field === 'credential')?.refusal.forForm(null)
  const className = isOptional ? 'form' : 'form needs-script'
  const flags = { 'data-offered': isOffered, 'data-optional': isOptional, novalidate: true }
  const data = { 'data-passkey': ceremony, 'data-options': options, 'data-url': place.url, ...flags }
  const all = attributes({ method: 'post', action, class: className, hidden: !place.isHere, ...data })
  const message = attributes({ class: 'error', role: 'alert', hidden: error === undefined })
  return html`<form${all}>${hiddenFields({ ...form.fields, credential: '' })}${form.controls ?? null}<p${message}>${error ?? ''}</p>
<div class="actions">${submitButton({ label, weight })}</div></form><p${attributes({ hidden: place.isHere })}>${passkeyLink(place, form.linkText)}</p>
`
}

/** Returns whom passkeys are for. Throws `route_not_found` if browsers allow none at this URL. */
export function requirePasskeys(passkeys: Passkeys, exchange: Exchange): RelyingParty {
  const rp = passkeys.relyingParty(exchange)
  if (rp === null) throw new Failure('route_not_found', 'Passkeys don’t work at this URL.')
  return rp
}

/** Sends the options of a ceremony to the script. */
export function sendOptions(exchange: Exchange, options: object): Sent {
  addHeaders(exchange, responseHeaders)
  return sendJson(exchange, 200, JSON.stringify(options))
}
