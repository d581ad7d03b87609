/** Joining an account with an invitation. The link is the same for people with and without a session. */

import { roleDescriptions } from '../../access/roles.ts'
import type { RateLimits } from '../../api/rate-limit.ts'
import { Failure, invitationOver } from '../../errors.ts'
import { form, required } from '../../forms/form.ts'
import { readScheme } from '../../frame/document.ts'
import type { Exchange, HandlerResult } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { Sent } from '../../http/response.ts'
import { findInvitationByToken, joinAccount, type OpenInvitation } from '../../members/invitations.ts'
import { memberName } from '../../members/schema.ts'
import { insertPerson } from '../../members/store.ts'
import type { Session } from '../../sessions/session.ts'
import { signInMember, switchAccount } from '../../sessions/store.ts'
import { invitationCookie } from '../../sessions/token.ts'
import { describeBrowser } from '../../sign-in/browser.ts'
import type { Passkeys } from '../../sign-in/passkeys/passkeys.ts'
import type { PasskeyPlace } from '../../sign-in/passkeys/relying-party.ts'
import { insertPersonWithPasskey, type NewPasskey, passkeyRefused } from '../../sign-in/passkeys/store.ts'
import type { Storage } from '../../storage/port.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { renderBare } from '../frame.ts'
import { Redirect } from '../page.ts'
import type { PageServer } from '../pages.ts'
import { linkButton, submitButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { maxPasskeyFormBytes, passkeyForm, requirePasskeys, sendOptions } from '../parts/passkey-form.ts'
import { attempt, valuesIn } from '../record-forms.ts'

const home = '/app/join'
const options = `${home}/passkey-options`

interface Services {
  readonly storage: Storage
  readonly rateLimits: RateLimits
  /** The name of the provider of OpenID Connect; null without one. */
  readonly oidcName: string | null
  readonly passkeys: Passkeys
}

interface NewPerson {
  readonly token: string
  readonly invitation: OpenInvitation
  readonly fields: Fields
}

const nameForm = form({ name: required(memberName) })

export function addJoinPages(pages: PageServer, services: Services): void {
  new JoinPages(pages, services).add()
}

class JoinPages {
  readonly #pages: PageServer
  readonly #services: Services

  constructor(pages: PageServer, services: Services) {
    this.#pages = pages
    this.#services = services
  }

  add(): void {
    this.#pages.publicRoute('GET', home, (exchange) => this.#show(exchange))
    this.#pages.publicRoute('GET', options, (exchange) => this.#sendOptions(exchange))
    const post = (exchange: Exchange, fields: Fields) =>
      typeof fields.token === 'string' ? this.#open(exchange, fields.token) : this.#join(exchange, fields)
    this.#pages.publicPost(home, post, maxPasskeyFormBytes)
  }

  /** Stores the invitation in the browser, so that no other URL or log has its secret. */
  async #open(exchange: Exchange, sent: string): Promise<HandlerResult> {
    // People may paste the whole link.
    const token = sent.trim().replace(/^.*#/, '')
    const invitation = await findInvitationByToken(this.#services.storage, token)
    if (invitation === undefined) return this.#rejectToken(exchange)
    invitationCookie.set(exchange, this.#pages.isSecure(exchange), token)
    return this.#pages.redirect(exchange, new Redirect(home))
  }

  async #show(exchange: Exchange): Promise<HandlerResult> {
    const token = invitationCookie.read(exchange, this.#pages.isSecure(exchange))
    if (token === undefined) return this.#pages.send(exchange, 200, openPage(exchange))
    const invitation = await findInvitationByToken(this.#services.storage, token)
    if (invitation === undefined) return this.#rejectToken(exchange)
    const session = await this.#pages.sessionOf(exchange)
    return this.#send(exchange, 200, invitation, session, new FormState({ name: invitation.name ?? '' }))
  }

  /** Counts a failed attempt, and shows the form for another link. */
  #rejectToken(exchange: Exchange): HandlerResult | Sent {
    const tooMany = this.#services.rateLimits.countFailedAuthentication(exchange)
    if (tooMany !== undefined) return tooMany
    invitationCookie.clear(exchange, this.#pages.isSecure(exchange))
    const refusal = new Refusal('not_allowed.secret', { reason: invitationOver.message })
    return this.#pages.send(exchange, 422, openPage(exchange, [refusal.at('token')]))
  }

  /** Sends what a browser needs to create a passkey. */
  async #sendOptions(exchange: Exchange): Promise<HandlerResult> {
    const { storage, passkeys } = this.#services
    const token = invitationCookie.read(exchange, this.#pages.isSecure(exchange))
    const invitation = token === undefined ? undefined : await findInvitationByToken(storage, token)
    if (invitation === undefined) return invitationOver
    const { id, name, email, account } = invitation
    const rp = requirePasskeys(passkeys, exchange)
    const shown = name ?? email ?? account.name
    return sendOptions(exchange, await passkeys.registrationOptions(rp, { invitation: id }, shown))
  }

  /** Joins as the person who has signed in, or as a new person. */
  async #join(exchange: Exchange, fields: Fields): Promise<HandlerResult> {
    const { storage } = this.#services
    const token = invitationCookie.read(exchange, this.#pages.isSecure(exchange))
    const invitation = token === undefined ? undefined : await findInvitationByToken(storage, token)
    if (token === undefined || invitation === undefined) return this.#rejectToken(exchange)
    const session = await this.#pages.sessionOf(exchange)
    const member = session?.member ?? null
    if (this.#services.oidcName !== null && mustProveEmail(session, invitation)) return this.#show(exchange)
    if (session !== undefined && member !== null) {
      await storage.write(async (tx) => {
        const joined = await joinAccount(tx, { token, person: member.person.id, name: member.name }, exchange.id)
        await switchAccount(tx, session.id, member.person.id, joined.account)
      })
      return this.#finish(exchange)
    }
    const secret = await attempt(() => this.#joinAsNewPerson(exchange, { token, invitation, fields }))
    if (secret instanceof Failure) {
      const { violations = [] } = secret.facts
      const isPasskeyRefused = violations.some(({ field }) => field === 'credential')
      const tooMany = isPasskeyRefused && this.#services.rateLimits.countFailedAuthentication(exchange)
      return tooMany || this.#send(exchange, 422, invitation, session, new FormState(fields, violations))
    }
    await this.#pages.signIn(exchange, secret)
    return this.#finish(exchange)
  }

  /**
   * Joins with a passkey, or with only the link if there is no OpenID Connect, and returns the secret of the session. Throws
   * `validation_failed`, and `not_found` after someone else has joined.
   */
  async #joinAsNewPerson(exchange: Exchange, { token, invitation, fields }: NewPerson): Promise<string> {
    const { storage, oidcName } = this.#services
    const { name } = valuesIn(nameForm, { name: fields.name })
    const browser = describeBrowser(exchange)
    const passkey = fields.credential ? await this.#verifyPasskey(exchange, invitation, fields.credential) : null
    if (passkey === null && oidcName !== null) throw passkeyRefused
    return storage.write(async (tx) => {
      const person =
        passkey === null ? await insertPerson(tx, null) : await insertPersonWithPasskey(tx, passkey, browser)
      const joined = await joinAccount(tx, { token, person, name }, exchange.id)
      return signInMember(tx, joined, { method: passkey === null ? 'link' : 'passkey', browser })
    })
  }

  async #verifyPasskey(exchange: Exchange, { id }: OpenInvitation, sent: unknown): Promise<NewPasskey> {
    const { passkeys } = this.#services
    const rp = requirePasskeys(passkeys, exchange)
    const passkey = await passkeys.verifyRegistration(rp, { invitation: id }, sent)
    if (passkey === undefined) throw passkeyRefused
    return passkey
  }

  #finish(exchange: Exchange): Sent {
    invitationCookie.clear(exchange, this.#pages.isSecure(exchange))
    return this.#pages.redirect(exchange, new Redirect('/app', { code: 'account-joined' }))
  }

  #send(
    exchange: Exchange,
    status: number,
    invitation: OpenInvitation,
    session: Session | undefined,
    state: FormState,
  ): Sent {
    const { oidcName, passkeys } = this.#services
    const member = session?.member ?? null
    if (session !== undefined && member !== null && session.account.id === invitation.account.id) {
      return this.#pages.send(exchange, status, alreadyMemberPage(exchange, invitation))
    }
    const forms =
      member === null
        ? joiningForms(state, oidcName, passkeys.place(exchange, home))
        : joiningAsMember(member.name, mustProveEmail(session, invitation) ? oidcName : null)
    const body = html`${invitationText(invitation)}${forms}`
    return this.#pages.send(exchange, status, renderBare({ title: 'Join', scheme: readScheme(exchange), body }))
  }
}

/** Renders the form for an invitation's link. The script fills in the token from the URL, and sends the form. */
function openPage(exchange: Exchange, violations: readonly Violation[] = []): Html {
  const state = new FormState({}, violations)
  const link = textField(state, {
    name: 'token',
    label: 'Invitation link',
    type: 'password',
    help: 'Paste the link that you received. It works once.',
    hasFocus: violations.length === 0,
  })
  const body = html`<form method="post" action="${home}" class="form" data-token="wmi_" novalidate>${link}
<div class="actions">${submitButton({ label: 'Continue' })}</div></form>
<p>Already a member? <a href="/app/sign-in">Sign in</a></p>`
  return renderBare({ title: 'Join', scheme: readScheme(exchange), body })
}

function alreadyMemberPage(exchange: Exchange, { account }: OpenInvitation): Html {
  const body = html`<p>You’re already a member of <bdi>${account.name}</bdi>. Someone else can still use this invitation.</p>
<div class="actions">${linkButton({ label: 'Continue', href: '/app', weight: 'primary' })}</div>`
  return renderBare({ title: 'Join', scheme: readScheme(exchange), body })
}

function invitationText({ account, inviter, role }: OpenInvitation): Html {
  const who = inviter === null ? html`You’re invited` : html`<bdi>${inviter}</bdi> invites you`
  return html`<p>${who} to the account <strong><bdi>${account.name}</bdi></strong> as <strong>${role}</strong>.</p>
<p class="muted">${roleDescriptions[role]}</p>`
}

/**
 * Returns whether someone joins by OpenID Connect again, which checks their email address: they have signed in that way, and the
 * invitation is for an address.
 */
function mustProveEmail(session: Session | undefined, { email }: OpenInvitation): boolean {
  return email !== null && session?.method === 'oidc'
}

function oidcWay(name: string): Html {
  const href = '/app/sign-in/oidc?join=1'
  return html`<div class="actions">${linkButton({ label: `Continue with ${name}`, href, weight: 'primary' })}</div>`
}

/** Renders what joins as the person who has signed in, which avoids a second identity: a button, or the link to the provider. */
function joiningAsMember(name: string, oidcName: string | null): Html {
  const join = html`<form method="post" action="${home}" class="form"><div class="actions">${submitButton({ label: html`<span>Join as <bdi>${name}</bdi></span>` })}</div></form>`
  return html`${oidcName === null ? join : oidcWay(oidcName)}
<p>Someone else? Sign out first, then open the link again.</p>
<form method="post" action="/app/sign-out">${submitButton({ label: 'Sign out', weight: 'plain' })}</form>`
}

/** Renders the ways to join. Without OpenID Connect, browsers without scripts or passkeys join with only the link. */
function joiningForms(state: FormState, oidcName: string | null, place: PasskeyPlace | null): Html {
  const name = textField(state, {
    name: 'name',
    label: 'Your name',
    autocomplete: 'name',
    help: 'Other members see it.',
    isRequired: true,
  })
  const weight = oidcName === null ? 'primary' : 'plain'
  const withPasskey =
    place &&
    html`${passkeyForm(state, {
      ...{
        place,
        // Another host lacks the cookie, so people paste the link again.
        linkText: 'Open the invitation at',
        action: home,
        options,
        ceremony: 'create',
        isOptional: oidcName === null,
        weight,
        label: oidcName === null ? 'Join' : 'Join with a passkey',
      },
      controls: html`${name}<p class="help needs-script">Your browser asks for your fingerprint, your face or your device’s PIN, with which you sign in from then on.</p>`,
    })}`
  const withLink =
    place === null && oidcName === null
      ? html`<form method="post" action="${home}" class="form" novalidate>${name}
<div class="actions">${submitButton({ label: 'Join' })}</div></form>`
      : null
  return html`${oidcName && oidcWay(oidcName)}${withPasskey}${withLink}
<p>Already a member of another account here? <a href="/app/sign-in?next=${encodeURIComponent(home)}">Sign in first</a>, and join as the same person.</p>`
}
