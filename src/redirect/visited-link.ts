/** Finds the links that visitors and redirects reach. */
import type { Directory } from './directory.ts'
import type { ServedDomain, ServedLink } from './store.ts'
import { cleanedPaths, parseTarget, type VisitedPath, type VisitedTarget } from './visited-url.ts'

/** A parsed target with its link. If only a cleaned path reaches something, the target has that path. */
export interface VisitedLink extends VisitedTarget {
  readonly link: ServedLink | null
}

type Links = Pick<Directory, 'findLink'>

/**
 * Returns what a request target reaches on a domain, or a promise if a link must be read. If no link matches, looks up its
 * cleaned paths. Throws or rejects like `Directory.linkOf`.
 */
export function findVisited(links: Links, domain: ServedDomain, target: string): VisitedLink | Promise<VisitedLink> {
  const parsed = parseTarget(target)
  const found = (link: ServedLink | null) =>
    link === null && parsed.path.kind === 'alias'
      ? findFirst(links, domain, parsed, cleanedPaths(target))
      : { ...parsed, link }
  const link = linkAt(links, domain, parsed.path)
  return link instanceof Promise ? link.then(found) : found(link)
}

/** Returns the first path that reaches a link, or is a URL of the domain itself. */
function findFirst(
  links: Links,
  domain: ServedDomain,
  parsed: VisitedTarget,
  [path, ...rest]: readonly VisitedPath[],
): VisitedLink | Promise<VisitedLink> {
  if (path === undefined) return { ...parsed, link: null }
  const found = (link: ServedLink | null) =>
    link === null && path.kind === 'alias' ? findFirst(links, domain, parsed, rest) : { ...parsed, path, link }
  const link = linkAt(links, domain, path)
  return link instanceof Promise ? link.then(found) : found(link)
}

/** Returns the link at exactly this path. Throws or rejects like `Directory.linkOf`. */
export function linkAt(
  links: Links,
  domain: ServedDomain,
  path: VisitedPath,
): ServedLink | null | Promise<ServedLink | null> {
  return path.kind === 'alias' ? links.findLink(domain, path.alias) : null
}
