/** Sign-in with a passkey, a one-time link or an API key, and sign-out. */

import type { RateLimits } from '../../api/rate-limit.ts'
import { Failure } from '../../errors.ts'
import { readScheme, storeScheme } from '../../frame/document.ts'
import type { Exchange, HandlerResult } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { Keyring } from '../../keys/keyring.ts'
import type { Session } from '../../sessions/session.ts'
import { removeSession, sessionOwner, signInByKey, signInByToken } from '../../sessions/store.ts'
import { describeBrowser } from '../../sign-in/browser.ts'
import type { OidcClient } from '../../sign-in/oidc/client.ts'
import type { Passkeys } from '../../sign-in/passkeys/passkeys.ts'
import type { PasskeyPlace } from '../../sign-in/passkeys/relying-party.ts'
import { passkeyViolation } from '../../sign-in/passkeys/store.ts'
import type { Storage } from '../../storage/port.ts'
import { program } from '../../version.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { renderBare } from '../frame.ts'
import { Redirect } from '../page.ts'
import type { PageServer } from '../pages.ts'
import { copyable, hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collapsibleSection, FormState, textField } from '../parts/fields.ts'
import { maxPasskeyFormBytes, passkeyForm, requirePasskeys, sendOptions } from '../parts/passkey-form.ts'
import { shortReturnPath } from '../return-path.ts'

interface Services {
  readonly storage: Storage
  readonly keyring: Keyring
  readonly rateLimits: RateLimits
  readonly passkeys: Passkeys
  /** Null unless people can sign in with OpenID Connect. */
  readonly oidc: OidcClient | null
}

/** Starts a session. Returns its secret, or what is wrong. */
type Begin = (exchange: Exchange, fields: Fields) => Promise<string | readonly Violation[]>

export function addSignInPages(pages: PageServer, services: Services): void {
  const { storage: db, keyring, passkeys, oidc } = services
  pages.publicRoute('GET', '/app/sign-in', async (exchange) => {
    const session = await pages.sessionOf(exchange)
    const next = shortReturnPath(exchange.query.next)
    // Sign-in links have no next page: they may be for another account.
    if (session !== undefined && exchange.query.next !== undefined) return pages.redirect(exchange, new Redirect(next))
    return pages.send(exchange, 200, signInPage(exchange, { next, session, passkeys, oidc }))
  })

  pages.publicPost('/app/sign-in', signInForm(pages, services, beginBySecret(db, keyring)))

  const byPasskey = signInForm(pages, services, beginByPasskey(passkeys))
  pages.publicPost('/app/sign-in/passkey', byPasskey, maxPasskeyFormBytes)

  pages.publicRoute('GET', passkeyOptions, async (exchange) =>
    sendOptions(exchange, await passkeys.signInOptions(requirePasskeys(passkeys, exchange))),
  )

  pages.postUnlimited('/app/sign-out', null, async ({ exchange, session }) => {
    await removeSession(db, sessionOwner(session), session.id)
    return pages.signOut(exchange)
  })

  pages.publicPost('/app/scheme', async (exchange, fields) => {
    storeScheme(exchange, fields.scheme, pages.isSecure(exchange))
    return pages.redirect(exchange, new Redirect(shortReturnPath(fields.next)))
  })
}

const passkeyOptions = '/app/sign-in/passkey/options'

/** Returns the handler of a form that signs in. */
function signInForm(pages: PageServer, { rateLimits, passkeys, oidc }: Services, begin: Begin) {
  return async (exchange: Exchange, fields: Fields): Promise<HandlerResult> => {
    const next = shortReturnPath(fields.next)
    const result = await begin(exchange, fields)
    if (typeof result !== 'string') {
      const before = await pages.sessionOf(exchange)
      // A browser that opens the link a second time is already signed in.
      if (before !== undefined && fields.token !== undefined)
        return pages.redirect(exchange, new Redirect(next, { code: 'signed-in' }))
      const tooMany = rateLimits.countFailedAuthentication(exchange)
      if (tooMany !== undefined) return tooMany
      const page = signInPage(exchange, { next, session: before, passkeys, oidc }, result)
      return pages.send(exchange, 422, page)
    }
    await pages.signIn(exchange, result)
    return pages.redirect(exchange, new Redirect(next))
  }
}

function beginByPasskey(passkeys: Passkeys): Begin {
  return async (exchange, { credential }) => {
    const rp = passkeys.relyingParty(exchange)
    const secret = rp === null ? undefined : await passkeys.signIn(rp, credential, describeBrowser(exchange))
    return secret ?? [passkeyViolation]
  }
}

function beginBySecret(db: Storage, keyring: Keyring): Begin {
  return async (exchange, { token, api_key: key }) => {
    const browser = describeBrowser(exchange)
    if (typeof token === 'string' && token !== '') {
      // People may paste the whole link.
      const secret = await signInByToken(db, token.trim().replace(/^.*#/, ''), browser)
      return secret ?? [new Refusal('not_allowed.secret', { reason: linkUsedOrExpired }).at('token')]
    }
    const refused = (reason: string) => [new Refusal('not_allowed.secret', { reason }).at('api_key')]
    if (typeof key !== 'string' || key.trim() === '') return refused('Paste an API key, or open a sign-in link.')
    const identity = await keyring.identify(key.trim())
    if (identity instanceof Failure) return refused(identity.message)
    if (!identity.scopes.includes('*')) return refused(lacksScope)
    return (await signInByKey(db, identity.account, identity.id, browser)) ?? refused(keysCannotSignIn)
  }
}

const linkUsedOrExpired = 'This sign-in link was already used or has expired. Use a new link.'
const lacksScope = 'This API key lacks the * scope. Sign in with a key that has it.'
const keysCannotSignIn =
  'API keys can’t sign in to this account. Ask a colleague with the role owner for an invitation.'

const command = `${program} login-link`

/**
 * Renders the ways to sign in: those for every day first. A script asks first in a signed-in browser: a link must not silently
 * switch the account.
 */
function signInPage(exchange: Exchange, shown: Shown, violations: readonly Violation[] = []): Html {
  const { next, session } = shown
  const state = new FormState({}, violations)
  const already = session === undefined ? null : alreadySignedIn(session.account.name, next)
  const place = shown.passkeys.place(exchange, `/app/sign-in?next=${encodeURIComponent(next)}`)
  const passkey = place && passkeySignIn(state, shown, place)
  const link = linkForm(state, shown, !place?.isHere && shown.oidc === null ? 'primary' : 'plain')
  const body = html`${already}${oidcLink(shown)}${passkey}${link}${keySection(state, next)}${howToGetIn}`
  return renderBare({ title: 'Sign in', scheme: readScheme(exchange), body })
}

interface Shown {
  readonly next: string
  readonly session: Session | undefined
  readonly passkeys: Passkeys
  readonly oidc: OidcClient | null
}

/** Renders a link, because forms can't redirect to another site. It has the host that the provider sends people back to. */
function oidcLink({ oidc, next }: Shown): Html | null {
  if (oidc === null) return null
  const { baseUrl, name } = oidc.config
  const href = `${baseUrl}/app/sign-in/oidc?next=${encodeURIComponent(next)}`
  const label = html`<span>Sign in with <bdi>${name}</bdi></span>`
  return html`<div class="actions">${linkButton({ label, href, weight: 'primary' })}</div>
`
}

function passkeySignIn(state: FormState, { next, session, oidc }: Shown, place: PasskeyPlace): Html {
  return passkeyForm(state, {
    place,
    ...{ action: '/app/sign-in/passkey', options: passkeyOptions, ceremony: 'get', fields: { next } },
    isOffered: session === undefined,
    label: 'Sign in with a passkey',
    weight: oidc === null ? 'primary' : 'plain',
  })
}

function linkForm(state: FormState, { next, session }: Shown, weight: 'primary' | 'plain'): Html {
  const link = textField(state, {
    name: 'token',
    label: 'Sign-in link',
    type: 'password',
    autocomplete: 'current-password webauthn',
    help: 'Open the link, or paste it here. It works once, for 30 minutes.',
    hasFocus: state.violations.length === 0,
  })
  return html`<form method="post" action="/app/sign-in" class="form" data-token="wml_" data-sign-in="${session === undefined ? 'now' : 'ask'}" novalidate>${hiddenFields({ next })}
${link}<div class="actions">${submitButton({ label: 'Sign in', weight })}</div></form>
`
}

function keySection(state: FormState, next: string): Html {
  const key = textField(state, {
    name: 'api_key',
    label: 'API key',
    type: 'password',
    help: 'The key needs the * scope, which grants access to everything.',
  })
  const form = html`<form method="post" action="/app/sign-in" class="form" novalidate>${hiddenFields({ next })}
${key}<div class="actions">${submitButton({ label: 'Sign in with API key', weight: 'plain' })}</div></form>`
  return collapsibleSection('Use an API key', '', state.field('api_key').isInvalid, form)
}

/** For people who have never signed in, and for those who have lost every other way. */
const howToGetIn = html`<p>No access yet? Ask a colleague with the role owner for an invitation, or run this command on the server. It prints a sign-in link.</p>
${copyable(command, 'the command', 'Copy')}`

function alreadySignedIn(account: string, next: string): Html {
  return html`<p>You’re already signed in to <bdi>${account}</bdi>. <a href="${next}">Continue</a>, or sign in to another account.</p>
`
}
