import type { IncomingHttpHeaders } from 'node:http'
import type { Visit as ClickingVisit } from '../analytics/capture/visit.ts'
import { Failure, linkExpired } from '../errors.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import { MalformedForm, parseFormBytes } from '../http/form-encoding.ts'
import { addHeader, send } from '../http/response.ts'
import { fingerprintOf, fingerprintPath } from '../instance/fingerprint.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { visitTo } from './click.ts'
import type { Directory, ServedDomain, ServedLink } from './directory.ts'
import { nameIn, portIn } from './host.ts'
import { type Address, Loops } from './loop.ts'
import { pagePolicy } from './page-style.ts'
import { previewPage } from './pages.ts'
import { Passwords } from './passwords.ts'
import { elsewhere, type Redirect, redirectOf, sendElsewhere, sendNoIcon, sendRobots, sendToLink } from './redirects.ts'
import { type Answer, expired, resolve } from './resolve.ts'
import type { VisitCounts, VisitKind } from './visit-counts.ts'
import { type VisitedPath, visitedTarget } from './visited-path.ts'
import { noSuchLink, passwordRequired, unkept, wrongPassword } from './wording.ts'

/** What visits are answered from. */
export interface Visited {
  readonly directory: Pick<Directory, 'databaseId' | 'domainNamed' | 'linkOf'>
  /** Hears of each click on a link without a limit. */
  readonly onClick: (visit: ClickingVisit) => void
  /** Takes one of the clicks that a link with a limit has left for people; false if there is none. */
  readonly takeClick: (visit: ClickingVisit) => Promise<boolean>
  /** The header that tells visitors' countries, in lower case; null if there is none. */
  readonly countryHeader: string | null
  readonly shortUrl: ShortUrl
  readonly visits: VisitCounts
}

/** A request to a domain of the instance. */
interface Visit extends Address {
  readonly exchange: Exchange
  readonly query: string
}

/** Bytes of a form with a password. */
const maxFormBytes = 4 * 1024

/** Answers visits. */
export class Visits {
  readonly #visited: Visited
  readonly #loops: Loops
  readonly #passwords = new Passwords()

  constructor(visited: Visited) {
    this.#visited = visited
    this.#loops = new Loops(visited.directory, new URL(visited.shortUrl('a', '')).port)
  }

  /** Answers any request of a visitor. Throws what `Directory.linkOf` does for a link that is not in memory. */
  async answer(exchange: Exchange): Promise<Outcome> {
    const { directory } = this.#visited
    const name = nameIn(exchange.host)
    const domain = name === null ? undefined : directory.domainNamed(name)
    if (domain === undefined) return this.#counted('unknown_host', noSuchLink)
    if (exchange.target === fingerprintTarget) return sendFingerprint(exchange, directory.databaseId())
    if (isPrefetch(exchange.headers)) return this.#counted('prefetch', refusePrefetch(exchange))
    const { path, query } = visitedTarget(exchange.target)
    const answer = await this.#resolved(path, domain)
    const allow = mayPost(answer) ? withPost : withoutPost
    if (!allow.includes(exchange.method)) return this.#counted('method_not_allowed', notAllowed(exchange.method, allow))
    return this.#give({ exchange, domain, path, query }, answer)
  }

  async #resolved(path: VisitedPath, domain: ServedDomain): Promise<Answer> {
    const link = path.kind === 'alias' ? await this.#visited.directory.linkOf(domain, path.alias) : null
    return resolve(path, domain, link, Date.now())
  }

  #counted<T extends Outcome | Promise<Outcome>>(kind: VisitKind, outcome: T): T {
    this.#visited.visits.add(kind)
    return outcome
  }

  #give(visit: Visit, answer: Answer): Outcome | Promise<Outcome> {
    const { exchange } = visit
    switch (answer.kind) {
      case 'redirect':
        return this.#follow(visit, answer.link)
      case 'password':
        return exchange.method === 'POST' ? this.#unlock(visit) : this.#counted('password', passwordRequired)
      case 'preview':
        return this.#show(visit, answer.link)
      case 'homepage':
        return this.#leadElsewhere(visit, answer.kind, answer.url)
      case 'not_found':
        return answer.url === null
          ? this.#counted('not_found', noSuchLink)
          : this.#leadElsewhere(visit, answer.kind, answer.url)
      case 'expired':
        return answer.url === null
          ? this.#counted('expired', linkExpired)
          : this.#leadElsewhere(visit, answer.kind, answer.url)
      case 'robots':
        return this.#counted('robots', sendRobots(exchange))
      case 'favicon':
        return this.#counted('favicon', sendNoIcon(exchange))
    }
  }

  /** Sends the visitor to where the link leads, which is a click. */
  async #follow(visit: Visit, link: ServedLink): Promise<Outcome> {
    const { exchange, domain } = visit
    if (await this.#leadsBack(visit, redirectOf(link))) return this.#counted('loop', noSuchLink)
    const click = visitTo(link.id, domain.name, exchange, this.#visited.countryHeader)
    if (link.clicks_limit === null) {
      this.#visited.onClick(click)
      return this.#counted('redirect', sendToLink(exchange, link, visit.query))
    }
    if (click.class !== 'person') return this.#show(visit, link)
    if (await this.#visited.takeClick(click)) return this.#counted('redirect', sendToLink(exchange, link, visit.query))
    link.isUsedUp = true
    return this.#give(visit, expired(link, domain))
  }

  /** Sends the visitor on if the form has the password. */
  async #unlock(visit: Visit): Promise<Outcome> {
    const { exchange } = visit
    const password = await passwordIn(exchange)
    if (password instanceof Failure) return this.#counted('password', password)
    // The link may have changed while the form arrived.
    const answer = await this.#resolved(visit.path, visit.domain)
    if (answer.kind !== 'password') return this.#give(visit, answer)
    const { link } = answer
    const stored = link.redirect_password as string
    const verdict = await this.#passwords.judge(link.id, exchange.clientAddress, password, stored)
    if (verdict instanceof Failure) return this.#counted('password', verdict)
    return verdict ? this.#follow(visit, link) : this.#counted('password', wrongPassword)
  }

  #show({ exchange, domain }: Visit, link: ServedLink): Outcome {
    for (const [name, value] of Object.entries(pageHeaders)) addHeader(exchange, name, value)
    const shortUrl = this.#visited.shortUrl(domain.name, link.alias)
    return this.#counted('preview', send(exchange, 200, previewPage(link, shortUrl, Date.now())))
  }

  async #leadElsewhere(visit: Visit, kind: VisitKind, url: string): Promise<Outcome> {
    const redirect = elsewhere(url)
    if (await this.#leadsBack(visit, redirect)) return this.#counted('loop', noSuchLink)
    return this.#counted(kind, sendElsewhere(visit.exchange, redirect))
  }

  #leadsBack(visit: Visit, { target }: Redirect): Promise<boolean> {
    return this.#loops.leadsBack(visit, target, portIn(visit.exchange.host))
  }
}

const withoutPost = ['GET', 'HEAD']
const withPost = ['GET', 'HEAD', 'POST']

/** Where a form for a password is, or was a moment ago: the link may have ended while a visitor typed. */
function mayPost(answer: Answer): boolean {
  return answer.kind === 'password' || (answer.kind === 'expired' && answer.hadForm)
}

const fingerprintTarget = `/${fingerprintPath}`

/** Tells whether a domain's name leads here. It is no visit. */
function sendFingerprint(exchange: Exchange, databaseId: string): Outcome {
  if (!withoutPost.includes(exchange.method)) return notAllowed(exchange.method, withoutPost)
  for (const [name, value] of Object.entries(unkept)) addHeader(exchange, name, value)
  addHeader(exchange, 'content-type', 'text/plain; charset=utf-8')
  return send(exchange, 200, `${fingerprintOf(databaseId)}\n`)
}

function notAllowed(method: string, allow: readonly string[]): Failure {
  const detail = `This address does not support ${method}. It supports ${allow.join(', ')}.`
  return new Failure('method_not_allowed', detail, { allow })
}

const pageHeaders = {
  ...unkept,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy,
}

/** Whether a browser asks ahead, before anybody has followed the link: by Sec-Purpose, or the headers before it. */
function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return prefetchHeaders.some((name) => headers[name] !== undefined && aheadOfTime.test(String(headers[name])))
}

const prefetchHeaders = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
const aheadOfTime = /\b(?:prefetch|prerender|preview)\b/i

/** The browser asks again when the link is followed: a redirect that it has would be followed without a request. */
function refusePrefetch(exchange: Exchange): undefined {
  addHeader(exchange, 'cache-control', 'no-store')
  return send(exchange, 503)
}

/** The password in the form of a request; empty if it has none, or more than one. */
async function passwordIn(exchange: Exchange): Promise<string | Failure> {
  const type = exchange.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    return new Failure('unsupported_media_type', 'Send the password as application/x-www-form-urlencoded.')
  }
  const bytes = await receiveBody(exchange, maxFormBytes)
  if (bytes instanceof Failure) return bytes
  const fields = parseFormBytes(bytes)
  if (fields instanceof MalformedForm)
    return new Failure('malformed_body', `The form cannot be read. ${fields.message}`)
  const { redirect_password: password } = fields
  return typeof password === 'string' ? password : ''
}
