import type { Directory } from './directory.ts'
import { fallbackRedirect, type PreparedRedirect } from './redirects.ts'
import { resolve } from './resolve.ts'
import type { ServedDomain } from './store.ts'
import { parseTarget, portOf, type VisitedPath } from './visited-url.ts'

/** An address that this server serves. */
export interface Address {
  readonly domain: ServedDomain
  readonly path: VisitedPath
}

/** The redirects that are followed. Browsers stop after 20. */
const maxHops = 20

/** Finds redirects that return to the visited address, directly or through other domains of the instance. */
export class Loops {
  readonly #directory: Pick<Directory, 'domainNamed' | 'linkOf'>
  readonly #ownPort: string

  /** `ownPort` is the port of short URLs, as the URL Standard writes it. */
  constructor(directory: Pick<Directory, 'domainNamed' | 'linkOf'>, ownPort: string) {
    this.#directory = directory
    this.#ownPort = ownPort
  }

  /** Returns whether visitors get back to `start`, asynchronously if the instance serves the redirect's location. */
  isLoop(start: Address, redirect: PreparedRedirect, host: string): false | Promise<boolean> {
    const first = this.#addressOf(redirect, host)
    return first === undefined ? false : this.#returnsTo(start, first, host)
  }

  async #returnsTo(start: Address, first: Address, host: string): Promise<boolean> {
    let at: Address | undefined = first
    for (let hops = 0; hops < maxHops && at !== undefined; hops += 1) {
      if (keyOf(at) === keyOf(start)) return true
      const redirect: PreparedRedirect | null = await this.#redirectAt(at)
      at = redirect === null ? undefined : this.#addressOf(redirect, host)
    }
    return false
  }

  /** The instance has the default ports, the port of short URLs, and that in the Host header. */
  #addressOf({ name, port, pathname }: PreparedRedirect, host: string): Address | undefined {
    const domain = name === null ? undefined : this.#directory.domainNamed(name)
    if (domain === undefined) return undefined
    const isOwnPort = port === '' || port === this.#ownPort || port === portOf(host)
    return isOwnPort ? { domain, path: parseTarget(pathname).path } : undefined
  }

  /** Returns the redirect of an address; null if its response is not a redirect. */
  async #redirectAt({ domain, path }: Address): Promise<PreparedRedirect | null> {
    const link = path.kind === 'alias' ? await this.#directory.linkOf(domain, path.alias) : null
    const resolution = resolve(path, domain, link, new Date().toISOString())
    if (resolution.kind === 'redirect') return resolution.link.redirect
    return 'url' in resolution && resolution.url !== null ? fallbackRedirect(resolution.url) : null
  }
}

/** Queries do not change the response. */
function keyOf({ domain, path }: Address): string {
  return JSON.stringify([domain.id, path])
}
