/** Decides how each visit is answered, without HTTP. Pure. */
import { statusOf } from '../links/link.ts'
import type { ServedDomain, ServedLink } from './store.ts'
import type { VisitedPath } from './visited-url.ts'

/** The decision for a visit. Unset URLs are null. A link with a `clicks_limit` may still turn out used up. */
export type Resolution =
  | { readonly kind: 'robots' | 'favicon' }
  | { readonly kind: 'homepage' | 'not_found'; readonly url: string | null }
  | { readonly kind: 'expired'; readonly url: string | null; readonly link: ServedLink }
  | { readonly kind: 'redirect' | 'password' | 'preview'; readonly link: ServedLink }

/** Decides how a path of the domain is answered. `link` is the link of the path. `now` is RFC 3339, as in `statusOf`. */
export function resolve(path: VisitedPath, domain: ServedDomain, link: ServedLink | null, now: string): Resolution {
  switch (path.kind) {
    case 'robots':
    case 'favicon':
      return path
    case 'homepage':
      return domain.homepage_url === null ? notFound(domain) : { kind: 'homepage', url: domain.homepage_url }
    case 'undecodable':
      return notFound(domain)
    case 'alias':
      return link === null ? notFound(domain) : resolveLink(link, domain, path.asksForPreview, now)
  }
}

function resolveLink(link: ServedLink, domain: ServedDomain, asksForPreview: boolean, now: string): Resolution {
  switch (statusOf(link, now)) {
    case 'disabled':
    case 'scheduled':
      return notFound(domain)
    case 'expired':
      return expired(link, domain)
    case 'active':
      return asksForPreview ? resolvePreview(link, domain) : resolveVisit(link)
  }
}

/** A password hides the destination. */
function resolvePreview(link: ServedLink, domain: ServedDomain): Resolution {
  return link.redirect_password === null ? { kind: 'preview', link } : notFound(domain)
}

function resolveVisit(link: ServedLink): Resolution {
  return { kind: link.redirect_password === null ? 'redirect' : 'password', link }
}

export function expired(link: ServedLink, domain: ServedDomain): Resolution {
  const url = link.expiration_url ?? domain.not_found_url
  return { kind: 'expired', url, link }
}

const safe = ['GET', 'HEAD'] as const
const withForm = [...safe, 'POST'] as const
/** The statuses whose only purpose is to keep the method (RFC 9110 §15.4.8, §15.4.9). */
const methodKeepers = [307, 308]

/** Returns the methods that a resolution allows; null for all. */
export function allowedMethods(resolution: Resolution): readonly string[] | null {
  if (resolution.kind === 'preview' || !('link' in resolution)) return safe
  const { redirect, redirect_password } = resolution.link
  if (methodKeepers.includes(redirect.status)) return null
  // A link with a password form may have expired while a visitor typed.
  return redirect_password === null ? safe : withForm
}

function notFound({ not_found_url }: ServedDomain): Resolution {
  return { kind: 'not_found', url: not_found_url }
}
