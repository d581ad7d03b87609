/** Secrets of the dashboard: a prefix that scanners recognize, and 256 random bits in base64url. Their cookies. */
import { hash, randomBytes } from 'node:crypto'
import { HostCookie } from '../http/cookies.ts'

/** Lifetime of sessions. Milliseconds. */
export const sessionLifetimeMs = 30 * 24 * 60 * 60 * 1_000

export type TokenKind = 'login' | 'session' | 'invitation'

const prefixes: Readonly<Record<TokenKind, string>> = { login: 'wml_', session: 'wms_', invitation: 'wmi_' }

export function generateToken(kind: TokenKind): string {
  return prefixes[kind] + randomBytes(32).toString('base64url')
}

/** Returns whether the text looks like a secret of this kind. */
export function isWellFormedToken(kind: TokenKind, text: string): boolean {
  return text.startsWith(prefixes[kind]) && /^wm[lsi]_[\w-]{43}$/.test(text)
}

/** Returns whether the text contains a secret, which logs must not contain. */
export function hasToken(text: string): boolean {
  return /wm[lsi]_[\w-]{43}/.test(text)
}

export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** Returns the URL that signs in. Browsers don't send the fragment with the token to servers, so it is in no log. */
export function signInUrl(base: string, token: string): string {
  return `${base}/app/sign-in#${token}`
}

/** Returns the URL of an invitation, whose secret is in the fragment, too. */
export function invitationUrl(base: string, token: string): string {
  return `${base}/app/join#${token}`
}

/** The cookie with the secret of a session. The server ends the session; some end before their cookie. */
export const sessionCookie = new HostCookie('waymark', sessionLifetimeMs / 1_000)

/** The cookie with the token of an invitation that this browser has opened, for 30 minutes. */
export const invitationCookie = new HostCookie('waymark_invitation', 30 * 60)
