/** Decides how each visit is answered, without HTTP. Pure. */
import { statusOf } from '../links/link.ts'
import type { AppLinkField } from '../names/app-links.ts'
import { decide, noRule, type RuleDecision } from '../rules/decide.ts'
import { fallbackRedirect, maxLocationLength, type PreparedRedirect, withQuery } from './redirects.ts'
import type { ServedDomain, ServedLink } from './store.ts'
import type { VisitedPath } from './visited-url.ts'
import type { Visitor } from './visitor.ts'

/** The decision for a visit. Unset URLs are null. A link with a `clicks_limit` may still turn out used up. */
export type Resolution =
  | { readonly kind: 'robots' | 'favicon' }
  | { readonly kind: 'app_links'; readonly field: AppLinkField }
  | { readonly kind: 'homepage'; readonly url: string }
  | LinkResolution

/** The decision for a visit to a link, or to nothing. */
export type LinkResolution =
  | { readonly kind: 'not_found'; readonly url: string | null }
  | { readonly kind: 'expired'; readonly url: string | null; readonly link: ServedLink }
  | { readonly kind: 'password' | 'preview'; readonly link: ServedLink }
  | LinkRedirect

/** The redirect of a visitor to one of the link's destinations. */
export interface LinkRedirect {
  readonly kind: 'redirect'
  readonly link: ServedLink
  readonly redirect: PreparedRedirect
  readonly decision: RuleDecision
}

/** Decides how a visitor's request for a path of the domain is answered. `link` is the link of the path. */
export function resolve(
  path: VisitedPath,
  domain: ServedDomain,
  link: ServedLink | null,
  visitor: Visitor,
): Resolution {
  switch (path.kind) {
    case 'robots':
    case 'favicon':
      return path
    case 'homepage':
      return domain.homepage_url === null ? notFound(domain) : { kind: 'homepage', url: domain.homepage_url }
    case 'well_known':
      return path.field === null ? { kind: 'not_found', url: null } : { kind: 'app_links', field: path.field }
    case 'undecodable':
      return notFound(domain)
    case 'alias':
      return link === null ? notFound(domain) : resolveLink(link, domain, path.asksForPreview, visitor)
  }
}

/** Decides how a visit to a link of the domain, or to the link's preview, is answered. */
export function resolveLink(
  link: ServedLink,
  domain: ServedDomain,
  asksForPreview: boolean,
  visitor: Visitor,
): LinkResolution {
  const hasTimes = link.active_period_start_at !== null || link.active_period_end_at !== null
  // Most links have no times, and formatting one takes as long as finding the link.
  switch (statusOf(link, hasTimes ? new Date(visitor.atMs).toISOString() : '')) {
    case 'disabled':
    case 'scheduled':
      return notFound(domain)
    case 'expired':
      return expired(link, domain)
    case 'active':
      return asksForPreview ? resolvePreview(link, domain) : resolveVisit(link, visitor)
  }
}

/** A password hides the destination. */
function resolvePreview(link: ServedLink, domain: ServedDomain): LinkResolution {
  return link.redirect_password === null ? { kind: 'preview', link } : notFound(domain)
}

function resolveVisit(link: ServedLink, visitor: Visitor): LinkResolution {
  return link.redirect_password === null ? resolveUnlocked(link, visitor) : { kind: 'password', link }
}

/** Decides the response of an active link to a visitor who needs no password, or has sent it. */
export function resolveUnlocked(link: ServedLink, visitor: Visitor): LinkResolution {
  if (link.clicks_limit !== null && !usesClicks(visitor)) return { kind: 'preview', link }
  const { rules } = link
  // Programs get the same destination wherever they run.
  const isDecided = rules !== null && visitor.class === 'person'
  const decision = isDecided ? decide(rules, visitor, () => visitor.draw(link.id, rules.calendar)) : noRule
  const redirect = link.destinations[decision.destination] ?? link.destinations[0]
  // Earlier versions stored longer destinations. With their redirect, a proxy would count this server as failed.
  if (redirect.location.length > maxLocationLength) return { kind: 'preview', link }
  return { kind: 'redirect', link, redirect, decision }
}

/** Mail scanners often have no user agent. People without one can continue from the preview. */
function usesClicks(visitor: Visitor): boolean {
  return visitor.class === 'person' && (visitor.userAgent !== '' || visitor.hasSentForm)
}

export function expired(link: ServedLink, domain: ServedDomain): LinkResolution {
  const url = link.expiration_url ?? domain.not_found_url
  return { kind: 'expired', url, link }
}

/** Returns the redirect of a resolution; null if the response is not a redirect. */
export function findRedirect(resolution: Resolution): PreparedRedirect | null {
  if (resolution.kind === 'redirect') return resolution.redirect
  return 'url' in resolution && resolution.url !== null ? fallbackRedirect(resolution.url) : null
}

/** Returns the query of a visit if its redirect forwards it; otherwise an empty text. */
export function forwardedQuery(resolution: Resolution, query: string): string {
  return resolution.kind === 'redirect' && resolution.link.forward_query ? query : ''
}

/** Returns the location of a link's redirect for the query of a visit. */
export function buildLocation(to: LinkRedirect, query: string): string {
  return withQuery(to.redirect.location, forwardedQuery(to, query))
}

const safe = ['GET', 'HEAD'] as const
const withForm = [...safe, 'POST'] as const
/** The statuses whose only purpose is to keep the method (RFC 9110 §15.4.8, §15.4.9). */
const methodKeepers = [307, 308]

/** Returns the methods that are allowed at a path with this resolution; null for all. */
export function allowedMethods(resolution: Resolution, path: VisitedPath): readonly string[] | null {
  const isAskedPreview = resolution.kind === 'preview' && path.kind === 'alias' && path.asksForPreview
  if (isAskedPreview || !('link' in resolution)) return safe
  const { destinations, redirect_password } = resolution.link
  if (methodKeepers.includes(destinations[0].status)) return null
  // A link with a password form may have expired while a visitor typed.
  return redirect_password === null ? safe : withForm
}

export function notFound({ not_found_url }: ServedDomain): LinkResolution {
  return { kind: 'not_found', url: not_found_url }
}
