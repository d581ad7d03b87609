/** Routes for pages. Every page requires a session, and no other site can post its forms. */

import { createActor, type Identity, type NeededScope } from '../access/actor.ts'
import { requireScope, scopesOfRole } from '../access/roles.ts'
import type { RateLimits } from '../api/rate-limit.ts'
import { Failure } from '../errors.ts'
import { readScheme } from '../frame/document.ts'
import { receiveBody } from '../http/body.ts'
import { addEntityTag, readCondition } from '../http/conditions.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import { type Fields, noFields, parseForm } from '../http/form-encoding.ts'
import type { Html } from '../http/html.ts'
import { isMultipart, parseMultipart } from '../http/multipart.ts'
import { addHeaders, type Sent, send, sendNotModified, sendText } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { listPersonAccounts } from '../members/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Session } from '../sessions/session.ts'
import { findSession, removeSession, sessionOwner } from '../sessions/store.ts'
import { sessionCookie } from '../sessions/token.ts'
import type { Storage } from '../storage/port.ts'
import {
  failureContent,
  fingerprintOfParts,
  isRefresh,
  pageHeaders,
  renderFailurePage,
  renderFramed,
  responseHeaders,
} from './frame.ts'
import { consumeNotices, setNotice, withdrawOffer } from './notices.ts'
import { bindForms, moveSession, otherAccountPage } from './other-account.ts'
import { type FormLimits, type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from './page.ts'
import { returnPath, shortReturnPath } from './return-path.ts'
import { Submissions } from './submissions.ts'

/** The maximum form size in bytes. A link's URLs have up to 10,240 characters, of up to 12 bytes when encoded. */
const maxFormBytes = 160 * 1024
/** The maximum form size in bytes without a session: a secret and a return path. */
const maxPublicFormBytes = 4 * 1024
/** The maximum number of fields in a form: a checkbox for each row, and a few others. */
const maxFormFields = 200

/** The menu shows no more accounts. The profile shows all. */
const maxOtherAccounts = 10

/** Forms about the person, which are the same in each account. */
const personalPaths = ['/app/switch', '/app/profile/time-zone']

interface FormOptions {
  /** Whether the requests of a session are limited. */
  readonly isLimited: boolean
  /** Whether the form must name the account of the session. */
  readonly isOfAccount: boolean
}

const fileLimits: FormLimits = { maxBytes: 1024 * 1024, maxFields: maxFormFields }

interface Services {
  readonly router: Router
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  /** Returns the public URL of the dashboard, without a trailing slash. */
  readonly dashboardUrl: (exchange: Exchange) => string
  readonly rateLimits: RateLimits
  /** Limits of concurrent work, by account. */
  readonly semaphores: { readonly pages: Semaphore }
}

/** Serves pages: checks who asks and how often, and puts the content into the frame. */
export class PageServer implements Pages {
  readonly #services: Services
  readonly #submissions = new Submissions<PageContent | Redirect>()

  constructor(services: Services) {
    this.#services = services
  }

  get(path: string, scope: NeededScope | null, page: PageHandler): void {
    this.#addRead(path, (request) =>
      this.#services.semaphores.pages.run(async () => {
        // If the client left while the request waited, the response is only logged and counted.
        if (request.exchange.response.destroyed) return send(request.exchange, 503)
        return this.#answer(request, permitted(scope, page))
      }, String(request.account)),
    )
  }

  getFile(path: string, scope: NeededScope | null, handler: (request: PageRequest) => Promise<HandlerResult>): void {
    this.#addRead(path, permitted(scope, handler))
  }

  /** Adds a handler for GET. A path with a final slash redirects to the path without it. */
  #addRead(path: string, handler: (request: PageRequest) => Promise<HandlerResult>): void {
    this.publicRoute('GET', path, async (exchange) => {
      const [, page, query = ''] = /^([^?]*[^?/])\/+(\?.*)?$/s.exec(exchange.target) ?? []
      if (page !== undefined) return this.redirect(exchange, new Redirect(page + query))
      const session = await this.sessionOf(exchange)
      if (session === undefined) {
        const origin = localhostOrigin(exchange, this.#services.dashboardUrl(exchange))
        return this.redirect(
          exchange,
          new Redirect(`${origin}/app/sign-in?next=${encodeURIComponent(exchange.target)}`),
        )
      }
      return this.#countRequest(session, exchange) ?? handler(toPageRequest(exchange, session, noFields))
    })
  }

  post(path: string, scope: NeededScope | null, page: PageHandler, maxFields = maxFormFields): void {
    this.#addForm(path, permitted(scope, page), (exchange) => readForm(exchange, maxFormBytes, maxFields))
  }

  postFiles(path: string, scope: NeededScope | null, page: PageHandler, limits: FormLimits = fileLimits): void {
    this.#addForm(path, permitted(scope, page), (exchange) => readFormWithFiles(exchange, limits))
  }

  postUnlimited(path: string, scope: NeededScope | null, page: PageHandler): void {
    this.#addForm(path, permitted(scope, page), readPlainForm, { isLimited: false, isOfAccount: false })
  }

  /** Adds the form that dismisses the offer to reverse a change, and returns to its page. */
  addDismissal(): void {
    this.post('/app/dismiss', null, async ({ exchange, fields }) => {
      withdrawOffer(exchange, this.isSecure(exchange))
      return new Redirect(returnPath(fields.next))
    })
  }

  #countRequest(session: Session, exchange: Exchange): Failure | undefined {
    return this.#services.rateLimits.countRequest('session', session.id, exchange)
  }

  #addForm(path: string, page: PageHandler, read: FormReader, options: Partial<FormOptions> = {}): void {
    const { isLimited = true, isOfAccount = !personalPaths.includes(path) } = options
    this.publicRoute('POST', path, async (exchange) => {
      let session = await this.sessionOf(exchange)
      if (session === undefined) return this.redirect(exchange, new Redirect('/app/sign-in'))
      const spent = isLimited ? this.#countRequest(session, exchange) : undefined
      const form = spent ?? (await read(exchange))
      if (form instanceof Failure) return form
      const { once, page_account, switch_to, ...fields } = form
      const isForeign = isOfAccount && page_account !== String(session.account.id)
      if (isForeign)
        return this.#answer(toPageRequest(exchange, session, form), (request) => this.#askForAccount(request))
      session = await this.#switchSession(exchange, session, switch_to)
      if (session === undefined) return this.redirect(exchange, new Redirect('/app/sign-in'))
      const sent = { session: session.id, path: exchange.target, once }
      return this.#answer(toPageRequest(exchange, session, fields), (request) =>
        this.#submissions.take(sent, () => submit(page, request), redirectForRepeat),
      )
    })
  }

  /** Moves the session to the account that a form names, if any. Returns undefined if it ended while the form arrived. */
  async #switchSession(exchange: Exchange, session: Session, account: unknown): Promise<Session | undefined> {
    if (account === undefined) return session
    if (await this.sessionOf(exchange)) await moveSession(this.#services.storage, session, account)
    return this.sessionOf(exchange)
  }

  /** Adds a handler for a form that needs no session. */
  publicPost(
    path: string,
    handler: (exchange: Exchange, fields: Fields) => Promise<HandlerResult>,
    maxBytes = maxPublicFormBytes,
  ): void {
    this.publicRoute('POST', path, async (exchange) => {
      const fields = await readForm(exchange, maxBytes)
      return fields instanceof Failure ? fields : handler(exchange, fields)
    })
  }

  /** Adds a handler that needs no session. Rejects forms of other sites. Failures become error pages. */
  publicRoute(method: 'GET' | 'POST', path: string, handler: (exchange: Exchange) => Promise<HandlerResult>): void {
    const { router, dashboardUrl } = this.#services
    const checked = async (exchange: Exchange) =>
      (method === 'POST' ? crossSiteFailure(exchange, dashboardUrl(exchange)) : undefined) ?? handler(exchange)
    router.add(method, path, checked, { formatFailure: renderFailurePage })
  }

  async sessionOf(exchange: Exchange): Promise<Session | undefined> {
    const secret = sessionCookie.read(exchange, this.isSecure(exchange))
    const session = secret === undefined ? undefined : await findSession(this.#services.storage, secret)
    if (session !== undefined) exchange.logFields = { account: session.account.id, session: session.id }
    return session
  }

  /** Continues this browser with the secret of a new session. Ends its previous session: secrets never outlive a sign-in. */
  async signIn(exchange: Exchange, secret: string): Promise<void> {
    const before = await this.sessionOf(exchange)
    if (before !== undefined) await removeSession(this.#services.storage, sessionOwner(before), before.id)
    sessionCookie.set(exchange, this.isSecure(exchange), secret)
  }

  signOut(exchange: Exchange): Redirect {
    sessionCookie.clear(exchange, this.isSecure(exchange))
    return new Redirect('/app/sign-in')
  }

  isSecure(exchange: Exchange): boolean {
    return this.#services.dashboardUrl(exchange).startsWith('https:')
  }

  redirect(exchange: Exchange, { path, notice, batch }: Redirect): undefined {
    if (notice !== undefined) setNotice(exchange, notice, batch, this.isSecure(exchange))
    addHeaders(exchange, { ...responseHeaders, location: path })
    return send(exchange, 303)
  }

  send(exchange: Exchange, status: number, page: Html): Sent {
    addHeaders(exchange, pageHeaders)
    return sendText(exchange, status, page.text)
  }

  async #answer(request: PageRequest, page: PageHandler): Promise<HandlerResult> {
    const { exchange, session } = request
    const shown = await contentOrFailure(request, page)
    if (shown instanceof Redirect) return this.redirect(exchange, shown)
    const { status = 200, ...rest } = shown
    const path = shortReturnPath(exchange.target)
    const names = { ...this.#services, account: request.account, actor: request.actor }
    // Notices wait for a successful page that is shown. The response to a form, such as a question, is about the form.
    const isShown = status < 400 && exchange.method === 'GET' && !isRefresh(exchange)
    const notice = isShown ? await consumeNotices(exchange, names, this.isSecure(exchange)) : null
    const account = session.account.name
    const person = session.member?.name ?? session.key?.name ?? account
    const isZoneUnknown = session.member !== null && session.member.person.timeZone === null
    const otherAccounts = await this.#otherAccounts(session)
    const scheme = readScheme(exchange)
    const frame = { account, person, otherAccounts, isZoneUnknown, scheme, path, notice, actor: request.actor }
    const framed = bindForms(renderFramed({ ...rest, ...frame }), request.account)
    return isRefresh(exchange) && status === 200
      ? this.#sendIfChanged(exchange, framed)
      : this.send(exchange, status, framed)
  }

  /** Returns the page for a form that was opened in another account. */
  async #askForAccount({ exchange, session, fields }: PageRequest): Promise<PageContent> {
    const { page_account, switch_to: _, ...sent } = fields
    const { member, account } = session
    const own = member === null ? [] : await listPersonAccounts(this.#services.storage, member.person.id)
    const opened = own.find(({ id }) => String(id) === page_account)
    return otherAccountPage(exchange.target, sent, account, opened)
  }

  /** Returns the accounts that the person of a session can switch to. Reads them only for people with several. */
  async #otherAccounts({ account, member }: Session) {
    if (member === null || !member.person.hasOtherAccounts) return []
    const all = await listPersonAccounts(this.#services.storage, member.person.id)
    return all.filter(({ id }) => id !== account.id).slice(0, maxOtherAccounts)
  }

  /** Sends a page to its script. The response for an unchanged page is 304. */
  #sendIfChanged(exchange: Exchange, page: Html): Sent {
    if (!addEntityTag(exchange, fingerprintOfParts(page), readCondition(exchange)))
      return this.send(exchange, 200, page)
    addHeaders(exchange, responseHeaders)
    return sendNotModified(exchange)
  }
}

/** Returns the result of a form. A repeated form gets the same one, whose notice is about the changes of the first. */
async function submit(page: PageHandler, request: PageRequest): Promise<PageContent | Redirect> {
  const result = await page(request)
  return result instanceof Redirect ? new Redirect(result.path, result.notice, request.actor.batchId) : result
}

async function contentOrFailure(request: PageRequest, page: PageHandler): Promise<PageContent | Redirect> {
  try {
    return await page(request)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { exchange, fields } = request
    const content = failureContent(error, exchange, fields.next)
    if (content === null) throw error
    // For the log.
    exchange.failure = error.code
    return content
  }
}

function redirectForRepeat(result: PageContent | Redirect): Redirect | null {
  return result instanceof Redirect ? result : (result.repeatRedirect ?? null)
}

function toPageRequest(exchange: Exchange, session: Session, fields: Fields): PageRequest {
  const { account } = session
  const actor = createActor(readIdentity(session), exchange.id)
  return { exchange, session, account: account.id, actor, query: exchange.query, fields }
}

/** Returns who acts in a session: the member who has signed in, or the session's key. */
function readIdentity({ account, member, key }: Session): Identity {
  if (member !== null) {
    const { id, name, role } = member
    return { account: account.id, kind: 'member', id, name, scopes: scopesOfRole(role) }
  }
  return { account: account.id, kind: 'key', id: key?.id ?? null, name: key?.name ?? '', scopes: ['*'] }
}

/** Returns the handler of a page, which throws `insufficient_scope` without the scope. */
function permitted<Result>(scope: NeededScope | null, handler: (request: PageRequest) => Promise<Result>) {
  return async (request: PageRequest): Promise<Result> => {
    if (scope !== null) requireScope(request.actor, scope)
    return handler(request)
  }
}

type FormReader = (exchange: Exchange) => Promise<Fields | Failure>

const readPlainForm: FormReader = (exchange) => readForm(exchange, maxFormBytes)

async function readFormWithFiles(exchange: Exchange, limits: FormLimits): Promise<Fields | Failure> {
  const { maxBytes, maxFields, tooLarge } = limits
  const type = exchange.headers['content-type']
  if (!isMultipart(type)) return readPlainForm(exchange)
  const bytes = await receiveBody(exchange, maxBytes)
  if (!(bytes instanceof Failure)) return parseMultipart(bytes, type, maxFields)
  return bytes.code === 'body_too_large' && tooLarge ? new Failure(bytes.code, tooLarge) : bytes
}

async function readForm(exchange: Exchange, maxBytes: number, maxFields = maxFormFields): Promise<Fields | Failure> {
  const bytes = await receiveBody(exchange, maxBytes)
  return bytes instanceof Failure ? bytes : parseForm(bytes, maxFields)
}

/**
 * Rejects a form from another site. Our own have `Sec-Fetch-Site: same-origin` (Fetch Metadata) or, without that header,
 * an `Origin` with the host of the request or of the public URL, which differ behind a proxy.
 */
function crossSiteFailure({ headers, host }: Exchange, publicUrl: string): Failure | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return undefined
  if (site === undefined && isOwnOrigin(headers.origin, [host, URL.parse(publicUrl)?.host ?? ''])) return undefined
  return new Failure(
    'cross_site',
    'This form wasn’t sent from the dashboard. Open its page in the dashboard and try again.',
  )
}

/** Returns whether a link on one of our own pages opened this page. Without Fetch Metadata, the `Referer` shows it. */
export function isFromOwnPage({ headers, host }: Exchange, publicUrl: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return isOwnOrigin(headers.referer, [host, URL.parse(publicUrl)?.host ?? ''])
}

/**
 * Returns the origin with `localhost` if a browser opened a loopback address of a dashboard for this machine, because a
 * session belongs to one host name. Returns '' otherwise. The port stays, because only that port certainly responds.
 */
function localhostOrigin({ host }: Exchange, dashboardUrl: string): string {
  const url = URL.parse(dashboardUrl)
  const isLocal = [host, url?.host ?? ''].every((name) => /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(name))
  if (url === null || !isLocal || /^localhost\b/i.test(host)) return ''
  return `${url.protocol}//localhost${/:\d+$/.exec(host)?.[0] ?? ''}`
}

function isOwnOrigin(origin: string | undefined, hosts: readonly string[]): boolean {
  const url = URL.parse(origin ?? '')
  if (url === null || !/^https?:$/.test(url.protocol)) return false
  // Parsing drops the default port of the protocol.
  return hosts.some((host) => URL.parse(`${url.protocol}//${host}`)?.host === url.host)
}
