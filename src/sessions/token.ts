/**
 * The secrets that open the dashboard: a prefix, by which a log or a scanner can recognise them, and 256 random bits in
 * base64url. Only their SHA-256 is stored.
 */
import { hash, randomBytes } from 'node:crypto'

/** The secret of a sign-in link, which works once, and that of a session. */
export type TokenKind = 'login' | 'session'

const prefixes: Readonly<Record<TokenKind, string>> = { login: 'wml_', session: 'wms_' }
const random = '[\\w-]{43}'
const forms: Readonly<Record<TokenKind, RegExp>> = {
  login: new RegExp(`^${prefixes.login}${random}$`),
  session: new RegExp(`^${prefixes.session}${random}$`),
}
const anywhere = new RegExp(`(${prefixes.login}|${prefixes.session})${random}`)

/** A new secret. It is handed out once; only its hash is kept. */
export function generateToken(kind: TokenKind): string {
  return prefixes[kind] + randomBytes(32).toString('base64url')
}

/** Whether the text has the form of a secret of this kind. */
export function isWellFormedToken(kind: TokenKind, text: string): boolean {
  return forms[kind].test(text)
}

/** Whether there is something of the form of either secret anywhere in the text, for what must not be logged. */
export function hasToken(text: string): boolean {
  return anywhere.test(text)
}

/** SHA-256 of the whole secret: what is stored in its place. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
