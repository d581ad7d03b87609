import type { Directory } from './directory.ts'
import { fallbackRedirect, type PreparedRedirect } from './redirects.ts'
import { type Resolution, resolve } from './resolve.ts'
import type { ServedDomain } from './store.ts'
import { findVisited } from './visited-link.ts'
import { portOf, type VisitedPath } from './visited-url.ts'
import type { Visitor } from './visitor.ts'
import type { VisitorFacts } from './visitor-facts.ts'

/** An address that this server serves. */
export interface Address {
  readonly domain: ServedDomain
  readonly path: VisitedPath
}

/** The target of a request to a domain that this server serves. */
interface Target {
  readonly domain: ServedDomain
  readonly target: string
}

/** The redirects that are followed. Browsers stop after 20. */
const maxHops = 20

/** Finds redirects that return to the visited address, directly or through other domains of the instance. */
export class Loops {
  readonly #directory: Pick<Directory, 'domainNamed' | 'linkOf'>
  readonly #facts: Pick<VisitorFacts, 'prepare'>
  readonly #ownPort: string

  /** `ownPort` is the port of short URLs, as the URL Standard writes it. */
  constructor(
    directory: Pick<Directory, 'domainNamed' | 'linkOf'>,
    facts: Pick<VisitorFacts, 'prepare'>,
    ownPort: string,
  ) {
    this.#directory = directory
    this.#facts = facts
    this.#ownPort = ownPort
  }

  /** Returns whether visitors get back to `start`, asynchronously if the instance serves the redirect's location. */
  isLoop(start: Address, redirect: PreparedRedirect, host: string, visitor: Visitor): false | Promise<boolean> {
    const first = this.#targetOf(redirect, host)
    return first === undefined ? false : this.#returnsTo(start, first, host, visitor)
  }

  async #returnsTo(start: Address, first: Target, host: string, visitor: Visitor): Promise<boolean> {
    let at: Target | undefined = first
    for (let hops = 0; hops < maxHops && at !== undefined; hops += 1) {
      const { domain, target }: Target = at
      const { path, query, link } = await findVisited(this.#directory, domain, target)
      if (keyOf({ domain, path }) === keyOf(start)) return true
      await this.#facts.prepare(link, visitor.atMs)
      const redirect = redirectOf(resolve(path, domain, link, visitor.following(query)))
      at = redirect === null ? undefined : this.#targetOf(redirect, host)
    }
    return false
  }

  /** The instance has the default ports, the port of short URLs, and that in the Host header. */
  #targetOf({ name, port, pathname, search }: PreparedRedirect, host: string): Target | undefined {
    const domain = name === null ? undefined : this.#directory.domainNamed(name)
    if (domain === undefined) return undefined
    const isOwnPort = port === '' || port === this.#ownPort || port === portOf(host)
    return isOwnPort ? { domain, target: pathname + search } : undefined
  }
}

/** Returns the redirect of a resolution; null if the response is not a redirect. */
function redirectOf(resolution: Resolution): PreparedRedirect | null {
  if (resolution.kind === 'redirect') return resolution.redirect
  return 'url' in resolution && resolution.url !== null ? fallbackRedirect(resolution.url) : null
}

/** Queries do not change the response. */
function keyOf({ domain, path }: Address): string {
  return JSON.stringify([domain.id, path])
}
