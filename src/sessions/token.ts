/** Secrets of the dashboard: a prefix that scanners recognize, and 256 random bits in base64url. */
import { hash, randomBytes } from 'node:crypto'

export type TokenKind = 'login' | 'session'

const prefixes: Readonly<Record<TokenKind, string>> = { login: 'wml_', session: 'wms_' }

export function generateToken(kind: TokenKind): string {
  return prefixes[kind] + randomBytes(32).toString('base64url')
}

/** Returns whether the text looks like a secret of this kind. */
export function isWellFormedToken(kind: TokenKind, text: string): boolean {
  return text.startsWith(prefixes[kind]) && /^wm[ls]_[\w-]{43}$/.test(text)
}

/** Returns whether the text contains a secret, which logs must not contain. */
export function hasToken(text: string): boolean {
  return /wm[ls]_[\w-]{43}/.test(text)
}

export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** Returns the URL that signs in. Browsers don't send the fragment with the token to servers, so it is in no log. */
export function signInUrl(base: string, token: string): string {
  return `${base}/app/sign-in#${token}`
}
