import { Ticks } from '../lib/ticks.ts'
import type { Directory } from './directory.ts'
import { type PreparedRedirect, withQuery } from './redirects.ts'
import { findRedirect, forwardedQuery, resolve } from './resolve.ts'
import type { ServedDomain, ServedLink } from './store.ts'
import { findVisited } from './visited-link.ts'
import { readPort, type VisitedPath } from './visited-url.ts'
import type { Visitor } from './visitor.ts'
import type { VisitorSources } from './visitor-sources.ts'

/** A place that this server serves. */
export interface ServedPlace {
  readonly domain: ServedDomain
  readonly path: VisitedPath
  /** The link at the path. */
  readonly link: ServedLink | null
}

/** The target of a request to a domain that this server serves. */
interface Target {
  readonly domain: ServedDomain
  readonly target: string
}

type Found = Target | undefined | Promise<Target | undefined>

/** The domains and links of the instance, in memory or in the database. */
interface Served extends Pick<Directory, 'findLink'> {
  domainNamed(name: string): ServedDomain | undefined | Promise<ServedDomain | undefined>
}

/** The redirects that are followed. Browsers stop after 20. */
const maxHops = 20

/** Finds redirects that return to the visited address, directly or through other domains of the instance. */
export class Loops {
  readonly #directory: Served
  readonly #sources: Pick<VisitorSources, 'prepare'>
  readonly #ownPort: string

  /** `ownPort` is the port of short URLs, as the URL Standard writes it. */
  constructor(directory: Served, sources: Pick<VisitorSources, 'prepare'>, ownPort: string) {
    this.#directory = directory
    this.#sources = sources
    this.#ownPort = ownPort
  }

  /**
   * Returns whether the visitor gets back to `start`, asynchronously if the instance serves the redirect's location.
   * `forwarded` is the query that the redirect forwards.
   */
  isLoop(
    start: ServedPlace,
    redirect: PreparedRedirect,
    forwarded: string,
    host: string,
    visitor: Visitor,
  ): false | Promise<boolean> {
    const first = this.#findTarget(redirect, forwarded, host)
    return first === undefined ? false : this.#returnsTo(start, first, host, visitor)
  }

  async #returnsTo(start: ServedPlace, first: Found, host: string, visitor: Visitor): Promise<boolean> {
    const ticks = new Ticks()
    let at = await first
    for (let hops = 0; hops < maxHops && at !== undefined; hops += 1) {
      const { domain, target }: Target = at
      const { path, query, link } = await findVisited(this.#directory, domain, target)
      if (isSame({ domain, path, link }, start)) return true
      await this.#sources.prepare(link, visitor)
      const resolution = resolve(path, domain, link, visitor.following(query))
      const redirect = findRedirect(resolution)
      at = redirect === null ? undefined : await this.#findTarget(redirect, forwardedQuery(resolution, query), host)
      await ticks.next()
    }
    return false
  }

  /** The instance has the default ports, the port of short URLs, and that in the Host header. */
  #findTarget({ name, port, pathname, search }: PreparedRedirect, forwarded: string, host: string): Found {
    const isOwnPort = port === '' || port === this.#ownPort || port === readPort(host)
    const found = name === null || !isOwnPort ? undefined : this.#directory.domainNamed(name)
    if (found === undefined) return undefined
    const target = withQuery(pathname + search, forwarded)
    if (found instanceof Promise) return found.then((domain) => domain && { domain, target })
    return { domain: found, target }
  }
}

/** A link has several addresses. Without the query: no link redirects to itself with another query. */
function isSame(one: ServedPlace, other: ServedPlace): boolean {
  if (one.link !== null || other.link !== null) return one.link?.id === other.link?.id
  return JSON.stringify([one.domain.id, one.path]) === JSON.stringify([other.domain.id, other.path])
}
