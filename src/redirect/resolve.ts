/** Decides how each visit is answered, without HTTP. Pure. */
import type { ServedDomain } from './store.ts'
import type { VisitedPath } from './visited-url.ts'

/** The parts of a link that the decision depends on. */
export interface LinkState {
  readonly disabled: boolean
  /** Unix milliseconds; null: no limit. */
  readonly startsAt: number | null
  readonly endsAt: number | null
  readonly isUsedUp: boolean
  readonly expiration_url: string | null
  readonly redirect_password: string | null
}

/**
 * The decision for a visit. Stored URLs are null if they are not set. A link with a `clicks_limit` redirects only people,
 * and only while the limit leaves clicks.
 */
export type Resolution<Link> =
  | { readonly kind: 'robots' | 'favicon' }
  | { readonly kind: 'homepage' | 'not_found'; readonly url: string | null }
  | { readonly kind: 'expired'; readonly url: string | null; readonly hadForm: boolean }
  | { readonly kind: 'redirect' | 'password' | 'preview'; readonly link: Link }

type DomainUrls = Pick<ServedDomain, 'homepage_url' | 'not_found_url'>

/** Decides how a path of the domain is answered. `link` is the link of the path. `now` is in Unix milliseconds. */
export function resolve<Link extends LinkState>(
  path: VisitedPath,
  domain: DomainUrls,
  link: Link | null,
  now: number,
): Resolution<Link> {
  switch (path.kind) {
    case 'robots':
    case 'favicon':
      return path
    case 'homepage':
      return domain.homepage_url === null ? notFound(domain) : { kind: 'homepage', url: domain.homepage_url }
    case 'undecodable':
      return notFound(domain)
    case 'alias':
      if (link === null || link.disabled) return notFound(domain)
      return path.asksForPreview ? resolvePreview(link, domain) : resolveVisit(link, domain, now)
  }
}

/** The preview does not depend on the link's period and clicks. A password hides the destination. */
function resolvePreview<Link extends LinkState>(link: Link, domain: DomainUrls): Resolution<Link> {
  return link.redirect_password === null ? { kind: 'preview', link } : notFound(domain)
}

function resolveVisit<Link extends LinkState>(link: Link, domain: DomainUrls, now: number): Resolution<Link> {
  if (isScheduled(link, now)) return notFound(domain)
  if (isExpired(link, now)) return expired(link, domain)
  return { kind: link.redirect_password === null ? 'redirect' : 'password', link }
}

/** Returns whether the link's period has not started yet. */
export function isScheduled({ startsAt }: LinkState, now: number): boolean {
  return startsAt !== null && startsAt > now
}

/** Returns whether the link's period is over, or its clicks are used up. */
export function isExpired({ endsAt, isUsedUp }: LinkState, now: number): boolean {
  return isUsedUp || (endsAt !== null && endsAt <= now)
}

export function expired(link: LinkState, domain: DomainUrls): Resolution<never> {
  const url = link.expiration_url ?? domain.not_found_url
  return { kind: 'expired', url, hadForm: link.redirect_password !== null }
}

function notFound({ not_found_url }: DomainUrls): Resolution<never> {
  return { kind: 'not_found', url: not_found_url }
}
