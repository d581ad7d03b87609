/**
 * Routes for pages. A page handler gets a session and form fields, and returns content or a redirect. Every page
 * requires a session, and no other site can post its forms.
 */

import { Failure, found, overloaded } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import { type Fields, noFields, parseForm } from '../http/form-encoding.ts'
import type { Html, Part } from '../http/html.ts'
import { addHeader, send, sendText } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { findSession, type Session } from '../sessions/store.ts'
import type { Db } from '../storage/port.ts'
import { readScheme, readSessionCookie } from './cookies.ts'
import { failureContent, renderFailurePage } from './failure-page.ts'
import { type Place, pageHeaders, renderFramed, responseHeaders } from './frame.ts'
import { consumeNotice, type Notice, type NoticeContext, setNotice } from './notices.ts'
import { shortReturnPath } from './return-path.ts'
import { Submissions } from './submissions.ts'

/** The maximum form size in bytes. A link's URLs have up to 10,240 characters, of up to 12 bytes when encoded. */
const maxFormBytes = 160 * 1024
/** The maximum form size in bytes without a session: a secret and a return path. */
const maxPublicFormBytes = 4 * 1024
/** The maximum number of fields in a form. A list has a checkbox for each row, and a few other fields. */
const maxFormFields = 200

/**
 * Limits of pages rendered at the same time, and of waiting requests, in total and for each account. 64 may wait, so
 * that a browser can restore 40 tabs. Few run for each account, because pages that wait for the database must not
 * delay other accounts.
 */
export const maxPages = { concurrency: 64, concurrencyPerKey: 4, maxQueue: 1_024, maxQueuePerKey: 64 }

/** A request with a session. */
export interface PageRequest {
  readonly exchange: Exchange
  readonly session: Session
  readonly account: number
  /** The fields of the query string. */
  readonly query: Fields
  /** The submitted fields; empty for GET. */
  readonly fields: Fields
}

/** The content of a page, inside the common frame. */
export interface PageContent {
  /** Names the thing and the place: "/summer on go.acme.com". */
  readonly title: string
  /** The `h1`, if it differs from the title. */
  readonly heading?: Part
  readonly place: Place
  /** The primary action, to the right of the heading. */
  readonly action?: Html
  readonly body: Part
  /** 200 by default. */
  readonly status?: number
  /** The redirect for a repeated form. Without it, a repeat does the work again. */
  readonly repeatRedirect?: Redirect
}

/** The next page, with an optional notice to show on it. */
export class Redirect {
  readonly path: string
  readonly notice: Notice | undefined

  constructor(path: string, notice?: Notice) {
    this.path = path
    this.notice = notice
  }
}

/** Handles a request for a page. A thrown `Failure` becomes an error page. */
export type PageHandler = (request: PageRequest) => Promise<PageContent | Redirect>

export interface PagesOptions {
  readonly router: Router
  readonly db: Db
  readonly shortUrl: NoticeContext['shortUrl']
  /** Returns the public URL of the dashboard, without a trailing slash. */
  readonly dashboardUrl: (exchange: Exchange) => string
  /** Counts a request against the session's rate limit. Returns a failure if the limit is exceeded. */
  readonly countRequest: (session: number, exchange: Exchange) => Failure | undefined
}

export class Pages {
  readonly #options: PagesOptions
  readonly #rendering = new Semaphore({ ...maxPages, rejection: tooManyPages })
  readonly #submissions = new Submissions<PageContent | Redirect>()

  constructor(options: PagesOptions) {
    this.#options = options
  }

  /**
   * Adds a page for GET. Without a session, redirects to the sign-in page and back afterwards. Returns `overloaded` to
   * an account that requests too many pages at the same time.
   */
  get(path: string, page: PageHandler): void {
    this.getFile(path, (request) =>
      this.#rendering.run(async () => {
        // The client may have left while the request waited. Then a response reaches no one, but is logged and counted.
        return request.exchange.response.destroyed ? send(request.exchange, 503) : this.#answer(request, page)
      }, String(request.account)),
    )
  }

  /** Adds a file, such as an image, for GET. The handler sends the response. */
  getFile(path: string, handler: (request: PageRequest) => Promise<Outcome>): void {
    this.publicRoute('GET', path, async (exchange) => {
      const session = await this.sessionOf(exchange)
      if (session === undefined) {
        return this.redirect(exchange, new Redirect(`/app/sign-in?next=${encodeURIComponent(exchange.target)}`))
      }
      return this.#options.countRequest(session.id, exchange) ?? handler(requestOf(exchange, session, noFields))
    })
  }

  /**
   * Adds a page for a form posted from our own pages. Forms that end a session are not limited, because a stolen
   * session could otherwise keep its owner from ending it.
   */
  post(path: string, page: PageHandler, { isLimited = true } = {}): void {
    this.publicRoute('POST', path, async (exchange) => {
      const fault = crossSiteFailure(exchange, this.#options.dashboardUrl(exchange))
      if (fault !== undefined) return fault
      const session = await this.sessionOf(exchange)
      if (session === undefined) return this.redirect(exchange, new Redirect('/app/sign-in'))
      const spent = isLimited ? this.#options.countRequest(session.id, exchange) : undefined
      const form = spent ?? (await readForm(exchange, maxFormBytes))
      if (form instanceof Failure) return form
      const { once, ...fields } = form
      const sent = { session: session.id, path: exchange.target, once }
      return this.#answer(requestOf(exchange, session, fields), (request) =>
        this.#submissions.take(sent, () => page(request), redirectForRepeat),
      )
    })
  }

  /** Adds a handler for a form posted from our own pages. No session is needed. */
  publicPost(path: string, handler: (exchange: Exchange, fields: Fields) => Promise<Outcome>): void {
    this.publicRoute('POST', path, async (exchange) => {
      const fault = crossSiteFailure(exchange, this.#options.dashboardUrl(exchange))
      if (fault !== undefined) return fault
      const fields = await readForm(exchange, maxPublicFormBytes)
      return fields instanceof Failure ? fields : handler(exchange, fields)
    })
  }

  /** Adds a handler that needs no session. Its failures become error pages. */
  publicRoute(method: 'GET' | 'POST', path: string, handler: (exchange: Exchange) => Promise<Outcome>): void {
    this.#options.router.add(method, path, handler, { formatFailure: renderFailurePage })
  }

  /** Returns the session that the cookie identifies. */
  async sessionOf(exchange: Exchange): Promise<Session | undefined> {
    const secret = readSessionCookie(exchange, this.isSecure(exchange))
    const session = secret === undefined ? undefined : await findSession(this.#options.db, secret)
    if (session !== undefined) exchange.logFields = { account: session.account.id, session: session.id }
    return session
  }

  /** Returns whether browsers reach the dashboard over HTTPS. */
  isSecure(exchange: Exchange): boolean {
    return this.#options.dashboardUrl(exchange).startsWith('https:')
  }

  /** Redirects the browser to a GET request (303). */
  redirect(exchange: Exchange, { path, notice }: Redirect): undefined {
    if (notice !== undefined) setNotice(exchange, notice, this.isSecure(exchange))
    for (const name in responseHeaders) addHeader(exchange, name, responseHeaders[name] as string)
    addHeader(exchange, 'location', path)
    return send(exchange, 303)
  }

  /** Sends a rendered page. */
  send(exchange: Exchange, status: number, text: string): undefined {
    for (const name in pageHeaders) addHeader(exchange, name, pageHeaders[name] as string)
    return sendText(exchange, status, text)
  }

  async #answer(request: PageRequest, page: PageHandler): Promise<Outcome> {
    const { exchange, session } = request
    const shown = await contentOrFailure(request, page)
    if (shown instanceof Redirect) return this.redirect(exchange, shown)
    const { status = 200, ...rest } = shown
    const path = shortReturnPath(exchange.target)
    const frame = { account: session.account.name, scheme: readScheme(exchange), path }
    // Notices wait for a successful page.
    if (status >= 400) return this.send(exchange, status, renderFramed({ ...rest, ...frame }))
    const names = { db: this.#options.db, shortUrl: this.#options.shortUrl, account: request.account }
    // A HEAD response shows no notice.
    const notice = exchange.method === 'HEAD' ? null : await consumeNotice(exchange, names, this.isSecure(exchange))
    return this.send(exchange, status, renderFramed({ ...rest, ...frame, ...(notice && { notice }) }))
  }
}

/** Returns the content of the page, or of an error page. Throws server errors. */
async function contentOrFailure(request: PageRequest, page: PageHandler): Promise<PageContent | Redirect> {
  try {
    return await page(request)
  } catch (error) {
    const { exchange, fields } = request
    const { method, target } = exchange
    const refusal = error instanceof Failure ? failureContent(error, { method, target, next: fields.next }) : null
    if (!(error instanceof Failure) || refusal === null) throw error
    // For the log.
    exchange.failure = error.code
    return refusal
  }
}

function tooManyPages(): Failure {
  return overloaded('Too many pages are loading. Try again in a second.')
}

/** Returns the redirect for a repeat of the same form; null if the repeat does the work again. */
function redirectForRepeat(result: PageContent | Redirect): Redirect | null {
  return result instanceof Redirect ? result : (result.repeatRedirect ?? null)
}

function requestOf(exchange: Exchange, session: Session, fields: Fields): PageRequest {
  return { exchange, session, account: session.account.id, query: exchange.query, fields }
}

/** Returns the `{id}` of the path. Throws `not_found` if it is not an id. */
export function idParam({ exchange }: PageRequest, what: string): number {
  return found(positiveInteger(exchange.params.id ?? ''), what)
}

/** Reads a form. */
async function readForm(exchange: Exchange, maxBytes: number): Promise<Fields | Failure> {
  const bytes = await receiveBody(exchange, maxBytes)
  return bytes instanceof Failure ? bytes : parseForm(bytes, maxFormFields)
}

/**
 * Rejects a state-changing request from another site. It must have `Sec-Fetch-Site: same-origin` (Fetch Metadata) or,
 * without that header, an `Origin` with this host. `address` is the public URL of the dashboard, because a proxy may
 * request another host.
 */
function crossSiteFailure({ headers, host }: Exchange, address: string): Failure | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return undefined
  if (site === undefined && isOwnOrigin(headers.origin, [host, URL.parse(address)?.host ?? ''])) return undefined
  return new Failure(
    'cross_site',
    'This request did not come from a page of this dashboard. Open the page, and try again there.',
  )
}

function isOwnOrigin(origin: string | undefined, hosts: readonly string[]): boolean {
  const url = URL.parse(origin ?? '')
  return url !== null && /^https?:$/.test(url.protocol) && hosts.some((host) => hostOf(url.protocol, host) === url.host)
}

/** Returns the host without the default port of the protocol. */
function hostOf(protocol: string, host: string): string | undefined {
  return URL.parse(`${protocol}//${host}`)?.host
}
