/** Parses a visitor's Host header and request target. Pure. */
import { composeText, decodePercent, foldCase } from '../lib/text.ts'
import { findAlias, withoutTypography } from '../names/alias.ts'
import { type AppLinkField, appLinkFieldAt, isAppLinkPath } from '../names/app-links.ts'
import { parseHostName } from '../names/host-name.ts'
import { maxDecodedAlias } from '../names/short-url.ts'
import { Refusal } from '../violations.ts'

/** A host that is not an IPv6 address (RFC 3986 §3.2.2), with an optional port. */
const hostAndPort = /^([^:/?#@[\]\\%\s]{1,512})(?::(\d*))?$/
const asciiName = /^[a-z\d._-]+$/i

/** Returns the name in a Host header as domains are stored, or null. Does not check ASCII names further. */
export function readHostName(host: string): string | null {
  const sent = hostAndPort.exec(host)?.[1]
  if (sent === undefined) return null
  if (asciiName.test(sent)) return (sent.endsWith('.') ? sent.slice(0, -1) : sent).toLowerCase()
  // Node decodes headers as Latin-1.
  const parsed = parseHostName(Buffer.from(sent, 'latin1').toString('utf8'))
  return parsed instanceof Refusal ? null : parsed.name
}

/** Returns the port of a Host header, as the URL Standard writes it; empty if it has none. */
export function readPort(host: string): string {
  const digits = hostAndPort.exec(host)?.[2] ?? ''
  return digits === '' ? '' : String(Number(digits))
}

export type VisitedPath =
  | { readonly kind: 'homepage' }
  | { readonly kind: 'robots' | 'favicon' }
  /** `/.well-known`, a path below it, or the path of a file of apps, which redirects at none of them. */
  | { readonly kind: 'well_known'; readonly field: AppLinkField | null }
  /** Not valid percent-encoding or UTF-8, or longer than any alias. */
  | { readonly kind: 'undecodable' }
  /** `alias` is in NFC, with its case. */
  | { readonly kind: 'alias'; readonly alias: string; readonly asksForPreview: boolean }

export interface VisitedTarget {
  readonly path: VisitedPath
  /** The text after the `?`, verbatim; empty if there is none. */
  readonly query: string
}

/** Lower-case ASCII without percent signs: decoding and folding would change nothing. */
const isPlain = /^[a-z\d_.~/-]*$/
/** A path without noise. */
const isClean = /^[a-z\d_~-]+(?:(?:\.+|\/)[a-z\d_~-]+)*\+?\/?$/i

/** Reads a request target in origin form. The path is percent-decoded once; one trailing slash is ignored. */
export function parseTarget(target: string): VisitedTarget {
  const fragment = target.indexOf('#')
  const sent = fragment < 0 ? target : target.slice(0, fragment)
  const mark = sent.indexOf('?')
  if (mark < 0) return { path: parsePath(sent), query: '' }
  return { path: parsePath(sent.slice(0, mark)), query: sent.slice(mark + 1) }
}

function parsePath(path: string): VisitedPath {
  const text = decodePath(path)
  // No alias has U+0000, which PostgreSQL rejects.
  if (text === null || text.includes('\0')) return isBelowWellKnown(path) ? wellKnown : { kind: 'undecodable' }
  const decoded = text.endsWith('/') ? text.slice(0, -1) : text
  const asksForPreview = decoded.endsWith('+')
  return classifyPath(asksForPreview ? decoded.slice(0, -1) : decoded, asksForPreview)
}

const wellKnown: VisitedPath = { kind: 'well_known', field: null }

/** Returns whether a path that cannot be decoded is below `/.well-known`. Each character of this may be encoded in three. */
function isBelowWellKnown(path: string): boolean {
  const start = path.slice(0, 3 * '/.well-known/'.length)
  const decoded = start.replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
  return /^\/\.well-known\//i.test(decoded)
}

/** Returns the text after the first slash, decoded; null if that fails, or if it is longer than any alias. */
function decodePath(path: string): string | null {
  if (!path.startsWith('/')) return null
  const encoded = path.slice(1)
  const text = isPlain.test(encoded) ? encoded : decodePercent(encoded)
  return text === null || text.length > maxDecodedAlias ? null : text
}

function classifyPath(decoded: string, asksForPreview: boolean): VisitedPath {
  if (decoded === '' && !asksForPreview) return { kind: 'homepage' }
  const folded = foldCase(decoded)
  const whole = asksForPreview ? `${folded}+` : folded
  if (isAppLinkPath(whole)) return { kind: 'well_known', field: appLinkFieldAt(whole) }
  if (!asksForPreview && folded === 'robots.txt') return { kind: 'robots' }
  if (!asksForPreview && folded === 'favicon.ico') return { kind: 'favicon' }
  return { kind: 'alias', alias: composeText(decoded), asksForPreview }
}

/**
 * Returns the paths to look up, in order, if a request target's own alias matches no link: without noise (see `findAlias`),
 * then without noise and typography. Leaves out paths that change nothing. A plus among the noise at the end asks for the
 * preview. Only noise is the root.
 */
export function cleanedPaths(target: string): readonly VisitedPath[] {
  const [sent = ''] = target.split(/[?#]/, 1)
  const text = isClean.test(sent.slice(1)) ? null : decodePath(sent)
  if (text === null) return []
  const plain = withoutTypography(text)
  const found = findAlias(text)
  const hasNoise = !text.startsWith(found.alias) || !/^\+?\/?$/.test(found.after)
  return [...(hasNoise ? pathTo(found) : []), ...(plain === text ? [] : pathTo(findAlias(plain)))]
}

/** Returns the path of an alias with the noise after it; none for a preview of the root. */
function pathTo({ alias, after }: ReturnType<typeof findAlias>): readonly VisitedPath[] {
  const asksForPreview = after.includes('+')
  return alias === '' && asksForPreview ? [] : [classifyPath(alias, asksForPreview)]
}
