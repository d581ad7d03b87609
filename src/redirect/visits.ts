import type { IncomingHttpHeaders } from 'node:http'
import type { Visit } from '../analytics/capture/visit.ts'
import { Failure, linkExpired } from '../errors.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import { parseForm } from '../http/form-encoding.ts'
import { addHeader, addHeaders, send } from '../http/response.ts'
import type { AppLinkField, AppLinks } from '../names/app-links.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { nameInStatistics } from '../rules/decide.ts'
import type { Directory } from './directory.ts'
import { Loops, type ServedPlace } from './loops.ts'
import { linkNotFound, noHomepage, pagePolicy, passwordRequired, previewPage, wrongPassword } from './pages.ts'
import { type PasswordSemaphores, Passwords } from './passwords.ts'
import { fallbackRedirect, noStoreHeaders, type PreparedRedirect, redirectTo, sendRedirect } from './redirects.ts'
import {
  allowedMethods,
  buildLocation,
  expired,
  forwardedQuery,
  type LinkRedirect,
  type Resolution,
  resolve,
  resolveUnlocked,
} from './resolve.ts'
import type { ServedLink } from './store.ts'
import { findVisited, linkAt, type VisitedLink } from './visited-link.ts'
import { readHostName } from './visited-url.ts'
import { Visitor } from './visitor.ts'
import type { VisitorSources } from './visitor-sources.ts'

/** The visits of a process by kind of response. */
export type VisitCounts = ReturnType<typeof newVisitCounts>
type VisitKind = keyof VisitCounts

export function newVisitCounts() {
  return {
    redirect: 0,
    homepage: 0,
    not_found: 0,
    expired: 0,
    preview: 0,
    password: 0,
    robots: 0,
    favicon: 0,
    app_links: 0,
    unknown_host: 0,
    loop: 0,
    prefetch: 0,
    method_not_allowed: 0,
  }
}

export interface VisitOptions {
  readonly directory: Pick<Directory, 'domainNamed' | 'findLink' | 'findAppLinks' | 'isUsedUp'>
  /** Gets each click on a link without a limit. */
  readonly onClick: (click: Visit) => void
  /** Uses one of the clicks that a link's limit leaves for people. Returns false if the limit is reached. */
  readonly takeClick: (click: Visit) => Promise<boolean>
  /** The header with the country of visitors, in lower case; null if there is none. */
  readonly countryHeader: string | null
  readonly sources: VisitorSources
  readonly shortUrl: ShortUrl
  readonly visits: VisitCounts
  readonly semaphores: PasswordSemaphores
}

/** A request to a domain of the instance. */
interface VisitedAddress extends ServedPlace {
  readonly exchange: Exchange
  readonly query: string
}

interface VisitRequest extends VisitedAddress {
  readonly visitor: Visitor
}

type Response = HandlerResult | Promise<HandlerResult>

const maxFormBytes = 4 * 1024

/** Answers the requests of visitors. Responses from memory are sent synchronously, without a promise for each visit. */
export class Visits {
  readonly #options: VisitOptions
  readonly #loops: Loops
  readonly #passwords: Passwords

  constructor(options: VisitOptions) {
    this.#options = options
    this.#passwords = new Passwords(options.semaphores)
    this.#loops = new Loops(options.directory, options.sources, new URL(options.shortUrl('a', '')).port)
  }

  /** Answers any request. Throws or rejects like `Directory.domainNamed` and `Directory.linkOf`. */
  answer(exchange: Exchange): Response {
    const { directory } = this.#options
    const name = readHostName(exchange.host)
    const domain = name === null ? undefined : directory.domainNamed(name)
    if (domain === undefined) return this.#counted('unknown_host', linkNotFound)
    if (isPrefetch(exchange.headers)) return this.#counted('prefetch', rejectPrefetch(exchange))
    const found = findVisited(directory, domain, exchange.target)
    const answer = ({ path, query, link }: VisitedLink) => this.#answerFrom({ exchange, domain, path, query, link })
    return found instanceof Promise ? found.then(answer) : answer(found)
  }

  #answerFrom(address: VisitedAddress): Response {
    const { link } = address
    const visit = { ...address, visitor: this.#readVisitor(address, false) }
    const loading = this.#options.sources.prepare(link, visit.visitor)
    return loading === undefined ? this.#answerTo(visit) : loading.then(() => this.#answerTo(visit))
  }

  #readVisitor({ exchange, query }: VisitedAddress, hasSentForm: boolean): Visitor {
    const { method, headers, clientAddress: ipAddress, protocol } = exchange
    const { countryHeader, sources } = this.#options
    const request = { method, headers, isHttps: protocol === 'https', atMs: Date.now() }
    return new Visitor({ ...request, ipAddress, countryHeader, query, hasSentForm }, sources)
  }

  #answerTo(visit: VisitRequest): Response {
    const { method } = visit.exchange
    const resolution = resolve(visit.path, visit.domain, visit.link, visit.visitor)
    const allow = allowedMethods(resolution, visit.path)
    if (allow !== null && !allow.includes(method))
      return this.#counted('method_not_allowed', methodNotAllowed(method, allow))
    return this.#respond(visit, resolution)
  }

  #counted<T extends Response>(kind: VisitKind, response: T): T {
    this.#options.visits[kind] += 1
    return response
  }

  #respond(visit: VisitRequest, resolution: Resolution): Response {
    const { exchange } = visit
    switch (resolution.kind) {
      case 'redirect':
        return this.#redirectToLink(visit, resolution)
      case 'password':
        return exchange.method === 'POST' ? this.#unlock(visit) : this.#counted('password', passwordRequired)
      case 'preview':
        return this.#preview(visit, resolution.link)
      case 'homepage':
      case 'not_found':
      case 'expired':
        return this.#redirectToFallback(visit, resolution)
      case 'robots':
        return this.#counted('robots', sendRobots(exchange))
      case 'favicon':
        return this.#counted('favicon', sendNoIcon(exchange))
      case 'app_links':
        return this.#sendAppLinks(visit, resolution.field)
    }
  }

  #sendAppLinks({ exchange, domain }: VisitRequest, field: AppLinkField): Response {
    const answer = ({ [field]: text }: AppLinks) => {
      if (text === null) return this.#counted('not_found', linkNotFound)
      addHeaders(exchange, appLinkHeaders)
      return this.#counted('app_links', send(exchange, 200, text))
    }
    const links = this.#options.directory.findAppLinks(domain)
    return links instanceof Promise ? links.then(answer) : answer(links)
  }

  /** Redirects the visitor to a destination of the link, which is a click. */
  #redirectToLink(visit: VisitRequest, to: LinkRedirect): Response {
    const { link } = to
    return this.#unlessLoop(visit, to.redirect, forwardedQuery(to, visit.query), () => {
      const click = visit.visitor.visitTo(link, visit.domain.name, nameInStatistics(to.decision))
      if (link.clicks_limit !== null) return this.#redirectWithinLimit(visit, to, click)
      this.#options.onClick(click)
      return this.#sendLinkRedirect(visit, to)
    })
  }

  async #redirectWithinLimit(visit: VisitRequest, to: LinkRedirect, click: Visit): Promise<HandlerResult> {
    return (await this.#options.takeClick(click))
      ? this.#sendLinkRedirect(visit, to)
      : this.#respondUsedUp(visit, to.link)
  }

  #respondUsedUp(visit: VisitRequest, link: ServedLink): Response {
    link.clicks = link.clicks_limit ?? 0
    return this.#respond(visit, expired(link, visit.domain))
  }

  #sendLinkRedirect({ exchange, query, visitor }: VisitRequest, to: LinkRedirect): HandlerResult {
    const { redirect } = to
    const status = visitor.hasSentForm ? 303 : redirect.status
    const location = buildLocation(to, query)
    const isPrepared = status === redirect.status && location === redirect.location
    return this.#counted('redirect', sendRedirect(exchange, isPrepared ? redirect : redirectTo(location, status)))
  }

  #redirectToFallback(
    visit: VisitRequest,
    { kind, url }: { readonly kind: VisitKind; readonly url: string | null },
  ): Response {
    if (url === null) return this.#counted(kind, kind === 'expired' ? linkExpired : missingAt(visit))
    const redirect = fallbackRedirect(url)
    return this.#unlessLoop(visit, redirect, '', () => this.#counted(kind, sendRedirect(visit.exchange, redirect)))
  }

  #unlessLoop(visit: VisitRequest, redirect: PreparedRedirect, forwarded: string, respond: () => Response): Response {
    const isLoop = this.#loops.isLoop(visit, redirect, forwarded, visit.exchange.host, visit.visitor)
    if (isLoop === false) return respond()
    return isLoop.then((found) => (found ? this.#counted('loop', missingAt(visit)) : respond()))
  }

  async #unlock(asked: VisitRequest): Promise<HandlerResult> {
    const { exchange, domain, path } = asked
    const password = await passwordIn(exchange)
    if (password instanceof Failure) return this.#counted('password', password)
    // The link may have changed while the form arrived.
    const link = await linkAt(this.#options.directory, domain, path)
    const visit = { ...asked, link, visitor: this.#readVisitor(asked, true) }
    await this.#options.sources.prepare(link, visit.visitor)
    const resolution = resolve(path, domain, link, visit.visitor)
    if (resolution.kind !== 'password') return this.#respond(visit, resolution)
    const { id, redirect_password } = resolution.link
    const verdict = await this.#passwords.judge(id, exchange.clientAddress, password, redirect_password as string)
    if (verdict instanceof Failure) return this.#counted('password', verdict)
    if (!verdict) return this.#counted('password', wrongPassword)
    return this.#respond(visit, resolveUnlocked(resolution.link, visit.visitor))
  }

  #preview(visit: VisitRequest, link: ServedLink): Response {
    if (link.clicks_limit === null) return this.#sendPreview(visit, link)
    // The last click may have been taken since the link was cached.
    const isUsedUp = this.#options.directory.isUsedUp(link)
    return isUsedUp.then((found) => (found ? this.#respondUsedUp(visit, link) : this.#sendPreview(visit, link)))
  }

  #sendPreview({ exchange, domain }: VisitRequest, link: ServedLink): HandlerResult {
    addHeaders(exchange, pageHeaders)
    const shortUrl = this.#options.shortUrl(domain.name, link.alias)
    return this.#counted('preview', send(exchange, 200, previewPage(link, shortUrl)))
  }
}

/** Returns the failure for a path of a domain that has nothing at it. */
function missingAt({ path }: VisitRequest): Failure {
  return path.kind === 'homepage' ? noHomepage : linkNotFound
}

/** Returns the failure for a method that a URL of a domain does not support. */
export function methodNotAllowed(method: string, allow: readonly string[]): Failure {
  const detail = `This URL does not support ${method}. It supports ${allow.join(', ')}.`
  return new Failure('method_not_allowed', detail, { allow })
}

const pageHeaders = {
  ...noStoreHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy,
}

/** Phones cache the files for long enough by themselves. */
const appLinkHeaders = { 'content-type': 'application/json', 'cache-control': 'no-cache' }

const prefetchHeaders = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
const prefetchPurpose = /\b(?:prefetch|prerender|preview)\b/i

function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return prefetchHeaders.some((name) => headers[name] !== undefined && prefetchPurpose.test(String(headers[name])))
}

/** A prefetched redirect would later be followed without a request. After a failure, the browser requests it again. */
function rejectPrefetch(exchange: Exchange): undefined {
  addHeader(exchange, 'cache-control', 'no-store')
  return send(exchange, 503)
}

/** Returns the form's password; empty if the form has none, or more than one. */
async function passwordIn(exchange: Exchange): Promise<string | Failure> {
  const type = exchange.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    return new Failure('unsupported_media_type', 'Send the password as application/x-www-form-urlencoded.')
  }
  const bytes = await receiveBody(exchange, maxFormBytes)
  if (bytes instanceof Failure) return bytes
  const fields = parseForm(bytes)
  if (fields instanceof Failure) return fields
  const { redirect_password: password } = fields
  return typeof password === 'string' ? password : ''
}

/** Robots may fetch everything, because they must see `noindex`. */
function sendRobots(exchange: Exchange): undefined {
  addHeader(exchange, 'content-type', 'text/plain; charset=utf-8')
  addHeader(exchange, 'cache-control', 'public, max-age=3600')
  return send(exchange, 200, 'User-agent: *\nAllow: /\n')
}

/** There is no icon. Browsers ask again after a day. */
function sendNoIcon(exchange: Exchange): undefined {
  addHeader(exchange, 'cache-control', 'public, max-age=86400')
  return send(exchange, 204)
}
