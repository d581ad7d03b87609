/** What each visit is answered with: the whole table, without HTTP. Pure. */
import type { ServedDomain, ServedLink } from './directory.ts'
import type { VisitedPath } from './visited-path.ts'

/** What to answer. A `url` is as it was stored; null where the operator has set none. */
export type Answer =
  | { readonly kind: 'robots' | 'favicon' }
  | { readonly kind: 'homepage'; readonly url: string }
  | { readonly kind: 'not_found'; readonly url: string | null }
  | { readonly kind: 'expired'; readonly url: string | null; readonly hadForm: boolean }
  /** The link's own redirect. With `clicks_limit`, only for a person, and only if that limit leaves a click to take. */
  | { readonly kind: 'redirect'; readonly link: ServedLink }
  | { readonly kind: 'preview'; readonly link: ServedLink }
  /** The link's redirect, for those who know its password. */
  | { readonly kind: 'password'; readonly link: ServedLink }

/**
 * Decides what a path of the domain is answered with. `link` is the one that the path names; null if there is none. `now` is
 * in Unix milliseconds.
 */
export function resolve(path: VisitedPath, domain: ServedDomain, link: ServedLink | null, now: number): Answer {
  switch (path.kind) {
    case 'robots':
      return { kind: 'robots' }
    case 'favicon':
      return { kind: 'favicon' }
    case 'homepage':
      return domain.homepage_url === null ? notFound(domain) : { kind: 'homepage', url: domain.homepage_url }
    case 'undecodable':
      return notFound(domain)
    case 'alias':
      if (link === null || link.disabled) return notFound(domain)
      return path.asksForPreview ? previewOf(link, domain) : visitOf(link, domain, now)
  }
}

/** Whatever the state of the link. A password hides where it leads. */
function previewOf(link: ServedLink, domain: ServedDomain): Answer {
  return link.redirect_password === null ? { kind: 'preview', link } : notFound(domain)
}

function visitOf(link: ServedLink, domain: ServedDomain, now: number): Answer {
  if (isScheduled(link, now)) return notFound(domain)
  if (isExpired(link, now)) return expired(link, domain)
  return link.redirect_password === null ? { kind: 'redirect', link } : { kind: 'password', link }
}

/** Whether the link's period has yet to begin. */
export function isScheduled({ startsAt }: ServedLink, now: number): boolean {
  return startsAt !== null && startsAt > now
}

/** Whether the link's period is over, or its clicks are used up. */
export function isExpired({ endsAt, isUsedUp }: ServedLink, now: number): boolean {
  return isUsedUp || (endsAt !== null && endsAt <= now)
}

/** What a link that has expired is answered with. */
export function expired(link: ServedLink, domain: ServedDomain): Answer {
  return {
    kind: 'expired',
    url: link.expiration_url ?? domain.not_found_url,
    hadForm: link.redirect_password !== null,
  }
}

/** What a link that does not exist is answered with. */
export function notFound({ not_found_url }: ServedDomain): Answer {
  return { kind: 'not_found', url: not_found_url }
}
