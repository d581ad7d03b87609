/** Sign-in with OpenID Connect: to the provider and back, and logouts that the provider announces. */

import type { RateLimits } from '../../api/rate-limit.ts'
import { Failure, UniqueViolation } from '../../errors.ts'
import { readScheme } from '../../frame/document.ts'
import { receiveBody } from '../../http/body.ts'
import type { Exchange, HandlerResult } from '../../http/exchange.ts'
import { parseForm } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { addHeaders, send } from '../../http/response.ts'
import type { Router } from '../../http/router.ts'
import { toNetwork } from '../../lib/ip-address.ts'
import type { Session } from '../../sessions/session.ts'
import { signInMember } from '../../sessions/store.ts'
import { invitationCookie } from '../../sessions/token.ts'
import { describeBrowser } from '../../sign-in/browser.ts'
import { type Arrival, admit, connect, isConnected } from '../../sign-in/oidc/admission.ts'
import { type Claims, describeError, type OidcClient, toProblem } from '../../sign-in/oidc/client.ts'
import type { OidcConfig } from '../../sign-in/oidc/config.ts'
import { type Flow, type Purpose, setFlowCookie, takeFlowCookie } from '../../sign-in/oidc/flow.ts'
import { endSessions } from '../../sign-in/oidc/logout.ts'
import { isProblem, type Problem, problems, serverProblems } from '../../sign-in/oidc/problems.ts'
import type { Storage } from '../../storage/port.ts'
import { renderBare, responseHeaders } from '../frame.ts'
import { Redirect } from '../page.ts'
import { isFromOwnPage, type PageServer } from '../pages.ts'
import { linkButton } from '../parts/buttons.ts'
import { shortReturnPath } from '../return-path.ts'

/** The maximum bytes of a logout request. */
const maxLogoutBytes = 16 * 1024

interface Services {
  readonly router: Router
  readonly storage: Storage
  readonly rateLimits: RateLimits
  /** Null unless people can sign in with OpenID Connect. */
  readonly oidc: OidcClient | null
  /** Logs a problem that an operator can fix. */
  readonly warn: (message: string) => void
}

export function addOidcPages(pages: PageServer, { oidc, ...services }: Services): void {
  if (oidc === null) return
  const signIns = new SignIns(pages, { ...services, oidc })
  pages.publicRoute('GET', '/app/sign-in/oidc', (exchange) => signIns.start(exchange))
  pages.publicRoute('GET', '/app/oidc/callback', (exchange) => signIns.finish(exchange))
  addProblemPage(pages)
  addLogout({ ...services, oidc })
}

type OidcServices = Services & { readonly oidc: OidcClient }

/** Sends people to the provider, and takes them back. */
class SignIns {
  readonly #pages: PageServer
  readonly #services: OidcServices

  constructor(pages: PageServer, services: OidcServices) {
    this.#pages = pages
    this.#services = services
  }

  async start(exchange: Exchange): Promise<HandlerResult> {
    const purpose = await findPurpose(this.#pages, exchange, this.#services.oidc.config.baseUrl)
    if (isProblem(purpose)) return this.#openProblem(exchange, purpose)
    const started = await this.#services.oidc.start().catch((error) => this.#log(error))
    if (typeof started === 'string') return this.#openProblem(exchange, started)
    const next = shortReturnPath(exchange.query.next)
    setFlowCookie(exchange, this.#pages.isSecure(exchange), { ...started.secrets, purpose, next })
    addHeaders(exchange, { ...responseHeaders, location: started.url })
    return send(exchange, 302)
  }

  async finish(exchange: Exchange): Promise<HandlerResult> {
    const flow = takeFlowCookie(exchange, this.#pages.isSecure(exchange), exchange.query.state)
    const result = flow === undefined ? 'stale' : await this.#authenticate(exchange, flow)
    if (typeof result !== 'string') return this.#pages.redirect(exchange, result)
    const { rateLimits } = this.#services
    const tooMany = result === 'unavailable' ? undefined : rateLimits.countFailedAuthentication(exchange)
    return tooMany ?? this.#openProblem(exchange, result)
  }

  async #authenticate(exchange: Exchange, flow: Flow): Promise<Redirect | Problem> {
    const { oidc, warn } = this.#services
    const query = exchange.target.replace(/^[^?]*\??/, '')
    const network = toNetwork(exchange.clientAddress)
    const claims = await oidc.finish(query, flow, network).catch((error) => this.#log(error))
    if (typeof claims === 'string') return claims
    let isOwnerKept = false
    const onLastOwner: Arrival['onLastOwner'] = ({ account, id }) => {
      isOwnerKept = true
      warn(`member ${id} keeps the role owner, against OIDC_ROLES: account ${account} has no other owner`)
    }
    const arrival = { config: oidc.config, claims, requestId: exchange.id, onLastOwner }
    if (typeof flow.purpose === 'number') return this.#connect(exchange, flow.purpose, arrival)
    const result = await this.#signIn(exchange, flow, arrival)
    return isOwnerKept && result instanceof Redirect ? new Redirect(result.path, { code: 'owner-kept' }) : result
  }

  async #connect(exchange: Exchange, person: number, arrival: Arrival): Promise<Redirect | Problem> {
    // The browser's person may have changed since the start.
    const session = await this.#pages.sessionOf(exchange)
    if (session?.member?.person.id !== person) return 'signed_out'
    const problem = await this.#services.storage.write((tx) => connect(tx, person, arrival)).catch(problemOfConnecting)
    return problem ?? new Redirect('/app/profile', { code: 'oidc-connected' })
  }

  async #signIn(exchange: Exchange, { purpose, next }: Flow, arrival: Arrival): Promise<Redirect | Problem> {
    const { storage, oidc, warn } = this.#services
    const isSecure = this.#pages.isSecure(exchange)
    const invitation = purpose === 'join' ? (invitationCookie.read(exchange, isSecure) ?? '') : undefined
    const { sid } = arrival.claims
    const session = {
      method: 'oidc',
      browser: describeBrowser(exchange),
      oidcSid: typeof sid === 'string' ? sid : null,
      lifetimeMs: oidc.config.sessionLifetimeMs,
    } as const
    const result = await storage
      .write(async (tx) => {
        const member = await admit(tx, { ...arrival, invitation })
        return typeof member === 'string' ? member : { secret: await signInMember(tx, member, session) }
      })
      .catch((error) => problemOfJoining(error, purpose))
    const reason = typeof result === 'string' ? explainFailure(result, arrival.claims, oidc.config) : undefined
    if (reason !== undefined) warn(`sign-in with OpenID Connect failed: ${reason}`)
    if (typeof result === 'string') return result
    await this.#pages.signIn(exchange, result.secret)
    if (purpose === 'join') invitationCookie.clear(exchange, isSecure)
    return new Redirect(shortReturnPath(next))
  }

  /** Opens the page of a problem. Its URL has no code and no text of the provider. */
  #openProblem(exchange: Exchange, problem: Problem): undefined {
    return this.#pages.redirect(exchange, new Redirect(`/app/oidc/problem?code=${problem}`))
  }

  #log(error: unknown): Problem {
    const problem = toProblem(error)
    if (problem !== 'denied') this.#services.warn(`sign-in with OpenID Connect failed: ${describeError(error)}`)
    return problem
  }
}

/** Renders whether a member can sign in with the provider, or the link that connects them; null without a provider. */
export async function identitySection(
  { oidc, storage }: Pick<Services, 'oidc' | 'storage'>,
  { member }: Session,
): Promise<Html | null> {
  if (oidc === null || member === null) return null
  const { issuer, name } = oidc.config
  const link = linkButton({
    label: html`<span>Connect with <bdi>${name}</bdi></span>`,
    href: '/app/sign-in/oidc?connect=1',
  })
  const content = (await isConnected(storage, member.person.id, issuer))
    ? html`<p>You can sign in with <bdi>${name}</bdi>.</p>`
    : html`<p>Connect yourself once, and sign in this way from then on.</p><div class="actions">${link}</div>`
  return html`<section id="single-sign-on"><h2>Single sign-on</h2>${content}</section>`
}

/** Returns what the sign-in is for. Another site must not start a sign-in that changes a person. */
async function findPurpose(pages: PageServer, exchange: Exchange, baseUrl: string): Promise<Purpose | Problem> {
  const { join, connect: isConnection } = exchange.query
  if (join === undefined && isConnection === undefined) return 'sign-in'
  if (!isFromOwnPage(exchange, baseUrl)) return 'foreign'
  if (join !== undefined) return 'join'
  return (await pages.sessionOf(exchange))?.member?.person.id ?? 'signed_out'
}

/** Returns what an operator can fix, without values of claims; undefined if there is nothing. */
function explainFailure(problem: Problem, claims: Claims, { roleClaim, roles }: OidcConfig): string | undefined {
  if (problem === 'no_account') return 'OIDC_ACCOUNT must be the ID of the account that people with a role join'
  if (roles.size === 0 || (problem !== 'no_access' && problem !== 'role_lost')) return undefined
  const isMissing = claims[roleClaim] === undefined
  return isMissing ? `the claim ${roleClaim} is missing` : `no value of the claim ${roleClaim} is in OIDC_ROLES`
}

/** Returns the problem if someone else has connected with the same identity meanwhile. */
function problemOfConnecting(error: unknown): Problem {
  if (error instanceof UniqueViolation) return 'connected_elsewhere'
  throw error
}

/** Returns the problem if the invitation or the member has been removed meanwhile, or someone has joined twice. */
function problemOfJoining(error: unknown, purpose: Purpose): Problem {
  if (error instanceof Failure && error.code === 'already_member') return 'already_member'
  if (error instanceof Failure && error.code === 'not_found')
    return purpose === 'join' ? 'invitation_over' : 'no_access'
  throw error
}

function addProblemPage(pages: PageServer): void {
  pages.publicRoute('GET', '/app/oidc/problem', async (exchange) => {
    const { code } = exchange.query
    if (!isProblem(code)) return new Failure('route_not_found', 'Page not found.')
    const { title, text } = problems[code]
    const isOfProfile = ['connected_elsewhere', 'already_connected'].includes(code)
    const back = isOfProfile
      ? linkButton({ label: 'Go to your profile', href: '/app/profile' })
      : linkButton({ label: 'Go to the sign-in page', href: '/app/sign-in' })
    const body = html`<p>${text}</p><div class="actions">${back}</div>`
    const page = renderBare({ title, scheme: readScheme(exchange), body })
    return pages.send(exchange, serverProblems.includes(code) ? 503 : 403, page)
  })
}

/** Adds the request with which the provider ends sessions. Its signed token replaces a session. */
function addLogout({ router, oidc, storage, rateLimits, warn }: OidcServices): void {
  router.add('POST', '/app/oidc/logout', async (exchange): Promise<HandlerResult> => {
    const token = await readLogoutToken(exchange)
    if (token instanceof Failure) return token
    addHeaders(exchange, { 'cache-control': 'no-store' })
    try {
      await endSessions(storage, oidc, token)
      return send(exchange, 200)
    } catch (error) {
      // Throws failures of this server, such as of its database.
      const problem = toProblem(error)
      warn(`logout by the provider rejected: ${describeError(error)}`)
      const tooMany = problem === 'unavailable' ? undefined : rateLimits.countFailedAuthentication(exchange)
      if (tooMany !== undefined) return tooMany
      addHeaders(exchange, { 'content-type': 'application/json' })
      return send(exchange, 400, '{"error":"invalid_request"}')
    }
  })
}

/** Returns the token of a logout request; '' if it has none. */
async function readLogoutToken(exchange: Exchange): Promise<string | Failure> {
  const bytes = await receiveBody(exchange, maxLogoutBytes)
  if (bytes instanceof Failure) return bytes
  const form = parseForm(bytes)
  return form instanceof Failure || typeof form.logout_token !== 'string' ? '' : form.logout_token
}
