/** Decides how each visit is answered, without HTTP. Pure. */
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

/** The parts of a domain that the decision depends on. */
export interface DomainUrls {
  readonly homepage_url: string | null
  readonly not_found_url: string | null
}

/** The decision for a visit. Stored URLs are null if they are not set. */
export type Resolution<Link> =
  | { readonly kind: 'robots' | 'favicon' }
  | { readonly kind: 'homepage'; readonly url: string }
  | { readonly kind: 'not_found'; readonly url: string | null }
  | { readonly kind: 'expired'; readonly url: string | null; readonly hadForm: boolean }
  /** The link's redirect. With a `clicks_limit`, only for people, and only while the limit leaves clicks. */
  | { readonly kind: 'redirect'; readonly link: Link }
  | { readonly kind: 'preview'; readonly link: Link }
  /** The link's redirect, after its password. */
  | { readonly kind: 'password'; readonly link: Link }

/**
 * Decides how a path of the domain is answered. `link` is the link of the path; null if there is none. `now` is in Unix
 * milliseconds.
 */
export function resolve<Link extends LinkState>(
  path: VisitedPath,
  domain: DomainUrls,
  link: Link | null,
  now: number,
): Resolution<Link> {
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
  return link.redirect_password === null ? { kind: 'redirect', link } : { kind: 'password', link }
}

/** Returns whether the link's period has not started yet. */
export function isScheduled({ startsAt }: LinkState, now: number): boolean {
  return startsAt !== null && startsAt > now
}

/** Returns whether the link's period is over, or its clicks are used up. */
export function isExpired({ endsAt, isUsedUp }: LinkState, now: number): boolean {
  return isUsedUp || (endsAt !== null && endsAt <= now)
}

/** Returns the resolution for an expired link. */
export function expired(link: LinkState, domain: DomainUrls): Resolution<never> {
  return {
    kind: 'expired',
    url: link.expiration_url ?? domain.not_found_url,
    hadForm: link.redirect_password !== null,
  }
}

/** Returns the resolution for an unknown link. */
export function notFound({ not_found_url }: DomainUrls): Resolution<never> {
  return { kind: 'not_found', url: not_found_url }
}
