/**
 * The pages as their files see them: each gets a session and the fields of the request, and returns what to show or where to
 * go. None can be reached without a session, and none can be made to act by another site.
 */

import { Failure, found, overloaded } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import { type Fields, MalformedForm, noFields, parseFormBytes } from '../http/form-encoding.ts'
import type { Html, Part } from '../http/html.ts'
import { addHeader, send, sendText } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { findSession, type Session } from '../sessions/store.ts'
import type { Db } from '../storage/port.ts'
import { readScheme, readSessionCookie } from './cookies.ts'
import { failureContent, renderFailurePage } from './failure-page.ts'
import { type Place, pageHeaders, renderFramed, responseHeaders } from './frame.ts'
import { leaveNotice, type Names, type Notice, takeNotice } from './notices.ts'
import { shortReturnPath } from './return-path.ts'
import { Submissions } from './submissions.ts'

/** Bytes that a form may have: the addresses of a link have 10 240 characters together, of up to 12 bytes when they are encoded. */
const maxFormBytes = 160 * 1024
/** Bytes that a form may have without a session: a secret, and where to go next. */
const maxPublicFormBytes = 4 * 1024
/** Fields that a form may have: a list has a box for each of its rows, and more beside them. */
const maxFormFields = 200

/**
 * How many requests for pages are handled at the same time, in all and for each account (the place), and how many wait: a
 * person who restores 40 tabs gets all of them. An account has only a few, because a page that waits for the database
 * must not delay the pages of other accounts.
 */
export const maxPages = { concurrency: 64, concurrencyPerKey: 4, maxQueue: 1_024, maxQueuePerKey: 64 }

/** A request of somebody who is signed in. */
export interface PageRequest {
  readonly exchange: Exchange
  readonly session: Session
  readonly account: number
  /** The fields of the address. */
  readonly query: Fields
  /** The fields of the form that was sent; none if none was. */
  readonly fields: Fields
}

/** What a page shows; the frame around it is the same for all. */
export interface PageContent {
  /** The thing and the place: "/summer on go.acme.com". */
  readonly title: string
  /** The `h1`, where it is not the title. */
  readonly heading?: Part
  readonly place: Place
  /** The primary action, at the right of the heading. */
  readonly action?: Html
  readonly body: Part
  /** 200 unless the page says otherwise. */
  readonly status?: number
  /** The redirect for a repeated form. Without it, a repeat does the work again. */
  readonly repeatRedirect?: Redirect
}

/** Where the browser goes next, and what it is told there. */
export class Redirect {
  readonly path: string
  readonly notice: Notice | undefined

  constructor(path: string, notice?: Notice) {
    this.path = path
    this.notice = notice
  }
}

/** Shows a page. What it throws is worded as a page. */
export type PageHandler = (request: PageRequest) => Promise<PageContent | Redirect>

export interface PagesOptions {
  readonly router: Router
  readonly db: Db
  readonly shortUrl: Names['shortUrl']
  /** The public address of the dashboard, without a slash at its end. */
  readonly dashboardUrl: (exchange: Exchange) => string
  /** Counts a request of the session; the failure that answers it if there have been too many. */
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
   * Has the page answer GET. Without a session, the browser is redirected to the sign-in page, and back afterwards. An
   * account that requests too many pages at the same time gets `overloaded`.
   */
  get(path: string, page: PageHandler): void {
    this.getFile(path, (request) =>
      this.#rendering.run(async () => {
        // The client may have left while the request waited. Then a response reaches no one, but is logged and counted.
        return request.exchange.response.destroyed ? send(request.exchange, 503) : this.#answer(request, page)
      }, String(request.account)),
    )
  }

  /** The same for what is no page, such as a picture or a file: the handler sends it. */
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
   * Has the page answer a form that was sent by POST from one of our own pages. What ends a session is not `isLimited`: a
   * thief of one cannot keep its owner from that.
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

  /** Has the handler answer a form that was sent by POST from one of our own pages, whether or not there is a session. */
  publicPost(path: string, handler: (exchange: Exchange, fields: Fields) => Promise<Outcome>): void {
    this.publicRoute('POST', path, async (exchange) => {
      const fault = crossSiteFailure(exchange, this.#options.dashboardUrl(exchange))
      if (fault !== undefined) return fault
      const fields = await readForm(exchange, maxPublicFormBytes)
      return fields instanceof Failure ? fields : handler(exchange, fields)
    })
  }

  /** Has the handler answer whether or not there is a session; what it throws is worded as a page. */
  publicRoute(method: 'GET' | 'POST', path: string, handler: (exchange: Exchange) => Promise<Outcome>): void {
    this.#options.router.add(method, path, handler, { formatFailure: renderFailurePage })
  }

  /** The session that the request belongs to. */
  async sessionOf(exchange: Exchange): Promise<Session | undefined> {
    const secret = readSessionCookie(exchange, this.isSecure(exchange))
    const session = secret === undefined ? undefined : await findSession(this.#options.db, secret)
    if (session !== undefined) exchange.logFields = { account: session.account.id, session: session.id }
    return session
  }

  /** Whether browsers reach the dashboard over https. */
  isSecure(exchange: Exchange): boolean {
    return this.#options.dashboardUrl(exchange).startsWith('https:')
  }

  /** Sends the browser on with a GET (303). */
  redirect(exchange: Exchange, { path, notice }: Redirect): undefined {
    if (notice !== undefined) leaveNotice(exchange, notice, this.isSecure(exchange))
    for (const name in responseHeaders) addHeader(exchange, name, responseHeaders[name] as string)
    addHeader(exchange, 'location', path)
    return send(exchange, 303)
  }

  /** Sends the text of a whole page. */
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
    // What a change came to is said on a page that can be shown.
    if (status >= 400) return this.send(exchange, status, renderFramed({ ...rest, ...frame }))
    const names = { db: this.#options.db, shortUrl: this.#options.shortUrl, account: request.account }
    // HEAD shows nothing.
    const notice = exchange.method === 'HEAD' ? null : await takeNotice(exchange, names, this.isSecure(exchange))
    return this.send(exchange, status, renderFramed({ ...rest, ...frame, ...(notice && { notice }) }))
  }
}

/** What the page shows, or why it refuses to; throws what the server failed at. */
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

/** What the same form gets when it is sent again after this result: a redirect. Null if its work is then done again. */
function redirectForRepeat(result: PageContent | Redirect): Redirect | null {
  return result instanceof Redirect ? result : (result.repeatRedirect ?? null)
}

function requestOf(exchange: Exchange, session: Session, fields: Fields): PageRequest {
  return { exchange, session, account: session.account.id, query: exchange.query as Fields, fields }
}

/** The `{id}` of the path. Throws `not_found` for anything that cannot be an id. */
export function idParam({ exchange }: PageRequest, what: string): number {
  return found(positiveInteger(exchange.params.id ?? ''), what)
}

/** The fields of a form. */
async function readForm(exchange: Exchange, maxBytes: number): Promise<Fields | Failure> {
  const bytes = await receiveBody(exchange, maxBytes)
  if (bytes instanceof Failure) return bytes
  const fields = parseFormBytes(bytes, maxFormFields)
  if (!(fields instanceof MalformedForm)) return fields
  return new Failure('malformed_body', `The form cannot be read. ${fields.message}`)
}

/**
 * Turns away a request that changes something and that another site may have made the browser send: it must say
 * `Sec-Fetch-Site: same-origin` (Fetch Metadata), or, where that header is absent, name this host in `Origin`. `address` is
 * the public address of the dashboard, which may be another than the host that a proxy asks for.
 */
export function crossSiteFailure({ headers, host }: Exchange, address: string): Failure | undefined {
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

/** The host without the scheme's own port, as `URL` writes it. */
function hostOf(protocol: string, host: string): string | undefined {
  return URL.parse(`${protocol}//${host}`)?.host
}
