/**
 * Redirects that would lead back to the address they came from, also by way of other domains of the instance.
 */

import type { Directory, ServedDomain } from './directory.ts'
import { nameIn } from './host.ts'
import { resolve } from './resolve.ts'
import { type VisitedPath, visitedTarget } from './visited-path.ts'

/** An address that this listener serves. */
export interface Address {
  readonly domain: ServedDomain
  readonly path: VisitedPath
}

/** Where a redirect leads. */
export interface Target {
  /** As a Host would name it; null if that is not the name of a host. */
  readonly name: string | null
  /** Empty for the default of the scheme. */
  readonly port: string
  readonly pathname: string
}

/** Reads a stored URL. */
export function targetOf(url: string): Target {
  const { host, port, pathname } = new URL(url)
  return { name: nameIn(host), port, pathname }
}

/** Redirects that are followed: browsers give up after 20. */
const maxHops = 20

/** Finds redirects that lead back. */
export class Loops {
  readonly #directory: Pick<Directory, 'domainNamed' | 'linkOf'>
  /** The port of short URLs, as the URL Standard writes it. */
  readonly #ownPort: string

  constructor(directory: Pick<Directory, 'domainNamed' | 'linkOf'>, ownPort: string) {
    this.#directory = directory
    this.#ownPort = ownPort
  }

  /**
   * The address of this listener that a target names; undefined if it is one of elsewhere. The listener has the port of short
   * URLs, the default ports, and the one that the request came with: `requestPort`, empty for a default.
   */
  #addressOf({ name, port, pathname }: Target, requestPort: string): Address | undefined {
    if (name === null || (port !== '' && port !== this.#ownPort && port !== requestPort)) return undefined
    const domain = this.#directory.domainNamed(name)
    return domain && { domain, path: visitedTarget(pathname).path }
  }

  /** Whether a visitor at `start` who is sent to `target` comes back to `start`. `port` is that of the visitor's Host. */
  async leadsBack(start: Address, target: Target, port: string): Promise<boolean> {
    let at = this.#addressOf(target, port)
    for (let hops = 0; hops < maxHops && at !== undefined; hops += 1) {
      if (isSame(start, at)) return true
      const url: string | null = await this.#urlAt(at)
      at = url === null ? undefined : this.#addressOf(targetOf(url), port)
    }
    return false
  }

  /** Where a visitor is sent from the address; null if the visitor stays there. */
  async #urlAt({ domain, path }: Address): Promise<string | null> {
    const link = path.kind === 'alias' ? await this.#directory.linkOf(domain, path.alias) : null
    const answer = resolve(path, domain, link, Date.now())
    if (answer.kind === 'redirect') return answer.link.url
    return 'url' in answer ? answer.url : null
  }
}

/** An address is a path of a domain: queries do not change what is answered. */
function isSame(one: Address, other: Address): boolean {
  if (one.domain.id !== other.domain.id || one.path.kind !== other.path.kind) return false
  if (one.path.kind !== 'alias' || other.path.kind !== 'alias') return true
  return one.path.alias === other.path.alias && one.path.asksForPreview === other.path.asksForPreview
}
