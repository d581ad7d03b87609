/** Finds the links that visitors and redirects reach. */
import type { Directory } from './directory.ts'
import type { ServedDomain, ServedLink } from './store.ts'
import { parseTarget, type VisitedPath, type VisitedTarget, withoutNoise } from './visited-url.ts'

/** A parsed target with its link. If only the path without noise reaches something, the target has that path. */
export interface VisitedLink extends VisitedTarget {
  readonly link: ServedLink | null
}

type Links = Pick<Directory, 'linkOf'>

/**
 * Returns what a request target reaches on a domain, or a promise if a link must be read. If no link matches, looks it up
 * once more without noise. Throws or rejects like `Directory.linkOf`.
 */
export function findVisited(links: Links, domain: ServedDomain, target: string): VisitedLink | Promise<VisitedLink> {
  const parsed = parseTarget(target)
  const link = linkAt(links, domain, parsed.path)
  if (link instanceof Promise) {
    return link.then((found) =>
      found === null ? findCleaned(links, domain, target, parsed) : { ...parsed, link: found },
    )
  }
  return link === null ? findCleaned(links, domain, target, parsed) : { ...parsed, link }
}

function findCleaned(
  links: Links,
  domain: ServedDomain,
  target: string,
  parsed: VisitedTarget,
): VisitedLink | Promise<VisitedLink> {
  const path = parsed.path.kind === 'alias' ? withoutNoise(target) : null
  if (path === null) return { ...parsed, link: null }
  const link = linkAt(links, domain, path)
  if (link instanceof Promise) return link.then((found) => ({ ...parsed, path, link: found }))
  return { ...parsed, path, link }
}

/** Returns the link at exactly this path. Throws or rejects like `Directory.linkOf`. */
export function linkAt(
  links: Links,
  domain: ServedDomain,
  path: VisitedPath,
): ServedLink | null | Promise<ServedLink | null> {
  return path.kind === 'alias' ? links.linkOf(domain, path.alias) : null
}
