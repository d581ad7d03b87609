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
import { schemeOf, sessionSecretOf } from './cookies.ts'
import { refusalPage, wordForPeople } from './failure-page.ts'
import { answerHeaders, type Place, pageHeaders, pageOf } from './frame.ts'
import { leaveNotice, type Names, type Notice, takeNotice } from './notices.ts'
import { openFormNextOf } from './return-path.ts'
import { Submissions } from './submissions.ts'

/** Bytes that a form may have: the addresses of a link have 10 240 characters together, of up to 12 bytes when they are encoded. */
const maxForm = 160 * 1024
/** Bytes that a form may have without a session: a secret, and where to go next. */
const maxOpenForm = 4 * 1024
/** Fields that a form may have: a list has a box for each of its rows, and more beside them. */
const maxFormFields = 200

/**
 * How many requests for pages are handled at the same time, in all and for each account (the place), and how many wait: a
 * person who restores 40 tabs gets all of them. An account has only a few, because a page that waits for the database
 * must not delay the pages of other accounts.
 */
export const maxPages = { concurrency: 64, concurrencyPerKey: 4, maxQueue: 1_024, maxQueuePerKey: 64 }

/** A request of somebody who is signed in. */
export interface Asked {
  readonly exchange: Exchange
  readonly session: Session
  readonly account: number
  /** The fields of the address. */
  readonly query: Fields
  /** The fields of the form that was sent; none if none was. */
  readonly fields: Fields
}

/** What a page shows; the frame around it is the same for all. */
export interface Shown {
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
  readonly repeated?: Next
}

/** Where the browser goes next, and what it is told there. */
export class Next {
  readonly path: string
  readonly notice: Notice | undefined

  constructor(path: string, notice?: Notice) {
    this.path = path
    this.notice = notice
  }
}

/** Shows a page. What it throws is worded as a page. */
export type Page = (asked: Asked) => Promise<Shown | Next>

export interface PagesParts {
  readonly router: Router
  readonly db: Db
  readonly shortUrl: Names['shortUrl']
  /** The public address of the dashboard, without a slash at its end. */
  readonly address: (exchange: Exchange) => string
  /** Counts a request of the session; the failure that answers it if there have been too many. */
  readonly spend: (session: number, exchange: Exchange) => Failure | undefined
}

export class Pages {
  readonly #parts: PagesParts
  readonly #rendering = new Semaphore({ ...maxPages, rejection: tooManyPages })
  readonly #submissions = new Submissions<Shown | Next>()

  constructor(parts: PagesParts) {
    this.#parts = parts
  }

  /**
   * Has the page answer GET. Without a session, the browser is redirected to the sign-in page, and back afterwards. An
   * account that requests too many pages at the same time gets `overloaded`.
   */
  show(path: string, page: Page): void {
    this.serve(path, (asked) =>
      this.#rendering.run(async () => {
        // The client may have left while the request waited. Then a response reaches no one, but is logged and counted.
        return asked.exchange.response.destroyed ? send(asked.exchange, 503) : this.#answer(asked, page)
      }, String(asked.account)),
    )
  }

  /** The same for what is no page, such as a picture or a file: the handler sends it. */
  serve(path: string, handler: (asked: Asked) => Promise<Outcome>): void {
    this.open('GET', path, async (exchange) => {
      const session = await this.sessionOf(exchange)
      if (session === undefined) {
        return this.goTo(exchange, new Next(`/app/sign-in?next=${encodeURIComponent(exchange.target)}`))
      }
      return this.#parts.spend(session.id, exchange) ?? handler(askedOf(exchange, session, noFields))
    })
  }

  /**
   * Has the page answer a form that was sent by POST from one of our own pages. What ends a session is not `isLimited`: a
   * thief of one cannot keep its owner from that.
   */
  act(path: string, page: Page, { isLimited = true } = {}): void {
    this.open('POST', path, async (exchange) => {
      const fault = crossSiteFault(exchange, this.#parts.address(exchange))
      if (fault !== undefined) return fault
      const session = await this.sessionOf(exchange)
      if (session === undefined) return this.goTo(exchange, new Next('/app/sign-in'))
      const spent = isLimited ? this.#parts.spend(session.id, exchange) : undefined
      const form = spent ?? (await readForm(exchange, maxForm))
      if (form instanceof Failure) return form
      const { once, ...fields } = form
      const sent = { session: session.id, path: exchange.target, once }
      return this.#answer(askedOf(exchange, session, fields), (asked) =>
        this.#submissions.take(sent, () => page(asked), repeated),
      )
    })
  }

  /** Has the handler answer a form that was sent by POST from one of our own pages, whether or not there is a session. */
  receive(path: string, handler: (exchange: Exchange, fields: Fields) => Promise<Outcome>): void {
    this.open('POST', path, async (exchange) => {
      const fault = crossSiteFault(exchange, this.#parts.address(exchange))
      if (fault !== undefined) return fault
      const fields = await readForm(exchange, maxOpenForm)
      return fields instanceof Failure ? fields : handler(exchange, fields)
    })
  }

  /** Has the handler answer whether or not there is a session; what it throws is worded as a page. */
  open(method: 'GET' | 'POST', path: string, handler: (exchange: Exchange) => Promise<Outcome>): void {
    this.#parts.router.add(method, path, handler, { formatFailure: wordForPeople })
  }

  /** The session that the request belongs to. */
  async sessionOf(exchange: Exchange): Promise<Session | undefined> {
    const secret = sessionSecretOf(exchange, this.isSecure(exchange))
    const session = secret === undefined ? undefined : await findSession(this.#parts.db, secret)
    if (session !== undefined) exchange.logFields = { account: session.account.id, session: session.id }
    return session
  }

  /** Whether browsers reach the dashboard over https. */
  isSecure(exchange: Exchange): boolean {
    return this.#parts.address(exchange).startsWith('https:')
  }

  /** Sends the browser on with a GET (303). */
  goTo(exchange: Exchange, { path, notice }: Next): undefined {
    if (notice !== undefined) leaveNotice(exchange, notice, this.isSecure(exchange))
    for (const name in answerHeaders) addHeader(exchange, name, answerHeaders[name] as string)
    addHeader(exchange, 'location', path)
    return send(exchange, 303)
  }

  /** Sends the text of a whole page. */
  send(exchange: Exchange, status: number, text: string): undefined {
    for (const name in pageHeaders) addHeader(exchange, name, pageHeaders[name] as string)
    return sendText(exchange, status, text)
  }

  async #answer(asked: Asked, page: Page): Promise<Outcome> {
    const { exchange, session } = asked
    const shown = await shownOrRefused(asked, page)
    if (shown instanceof Next) return this.goTo(exchange, shown)
    const { status = 200, ...rest } = shown
    const path = openFormNextOf(exchange.target)
    const frame = { account: session.account.name, scheme: schemeOf(exchange), path }
    // What a change came to is said on a page that can be shown.
    if (status >= 400) return this.send(exchange, status, pageOf({ ...rest, ...frame }))
    const names = { db: this.#parts.db, shortUrl: this.#parts.shortUrl, account: asked.account }
    // HEAD shows nothing.
    const notice = exchange.method === 'HEAD' ? null : await takeNotice(exchange, names, this.isSecure(exchange))
    return this.send(exchange, status, pageOf({ ...rest, ...frame, ...(notice && { notice }) }))
  }
}

/** What the page shows, or why it refuses to; throws what the server failed at. */
async function shownOrRefused(asked: Asked, page: Page): Promise<Shown | Next> {
  try {
    return await page(asked)
  } catch (error) {
    const { exchange, fields } = asked
    const request = { method: exchange.method, target: exchange.target, next: fields.next }
    const refusal = error instanceof Failure ? refusalPage(error, request) : null
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
function repeated(result: Shown | Next): Next | null {
  return result instanceof Next ? result : (result.repeated ?? null)
}

function askedOf(exchange: Exchange, session: Session, fields: Fields): Asked {
  return { exchange, session, account: session.account.id, query: exchange.query as Fields, fields }
}

/** The `{id}` of the path. Throws `not_found` for anything that cannot be an id. */
export function idOf({ exchange }: Asked, what: string): number {
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
export function crossSiteFault({ headers, host }: Exchange, address: string): Failure | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return undefined
  if (site === undefined && isOwn(headers.origin, [host, URL.parse(address)?.host ?? ''])) return undefined
  return new Failure(
    'cross_site',
    'This request did not come from a page of this dashboard. Open the page, and try again there.',
  )
}

function isOwn(origin: string | undefined, hosts: readonly string[]): boolean {
  const url = URL.parse(origin ?? '')
  return url !== null && /^https?:$/.test(url.protocol) && hosts.some((host) => hostOf(url.protocol, host) === url.host)
}

/** The host without the scheme's own port, as `URL` writes it. */
function hostOf(protocol: string, host: string): string | undefined {
  return URL.parse(`${protocol}//${host}`)?.host
}
