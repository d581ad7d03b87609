/** Secrets of the dashboard: a prefix that scanners recognize, and 256 random bits in base64url. The session cookie. */
import { hash, randomBytes } from 'node:crypto'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'

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

/** How long a browser keeps an opened invitation. Seconds. */
const invitationCookieAge = 30 * 60

/** With the prefix `__Host-`, browsers accept the cookie only from this host and over HTTPS (RFC 6265bis §4.1.3.2). */
function sessionCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-waymark' : 'waymark'
}

export function readSessionCookie(exchange: Exchange, isSecure: boolean): string | undefined {
  return readCookie(exchange, sessionCookieName(isSecure))
}

/** Sets the cookie of a session. The server ends the session; some end before their cookie. */
export function setSessionCookie(exchange: Exchange, isSecure: boolean, secret: string): void {
  setCookie(exchange, sessionCookieName(isSecure), secret, { isSecure, maxAge: sessionLifetimeMs / 1_000 })
}

export function clearSessionCookie(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, sessionCookieName(isSecure), '', { isSecure, maxAge: 0 })
}

function invitationCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-waymark_invitation' : 'waymark_invitation'
}

/** Returns the token of the invitation that this browser has opened. */
export function readInvitationCookie(exchange: Exchange, isSecure: boolean): string | undefined {
  const token = readCookie(exchange, invitationCookieName(isSecure))
  return token !== undefined && isWellFormedToken('invitation', token) ? token : undefined
}

/** Stores the token of an invitation until its person has joined, for at most 30 minutes. */
export function setInvitationCookie(exchange: Exchange, isSecure: boolean, token: string): void {
  setCookie(exchange, invitationCookieName(isSecure), token, { isSecure, maxAge: invitationCookieAge })
}

export function clearInvitationCookie(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, invitationCookieName(isSecure), '', { isSecure, maxAge: 0 })
}
