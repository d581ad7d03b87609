/** Parses a visitor's Host header and request target. Pure. */
import { decodePercent, foldCase } from '../lib/text.ts'
import { parseHostName } from '../names/host-name.ts'
import { Refusal } from '../violations.ts'

/** A host that is not an IPv6 address (RFC 3986 §3.2.2), with an optional port. */
const hostAndPort = /^([^:/?#@[\]\\%\s]{1,512})(?::(\d*))?$/
const asciiName = /^[a-z\d._-]+$/i

/** Returns the name in a Host header as domains are stored, or null. Does not check ASCII names further. */
export function hostNameOf(host: string): string | null {
  const sent = hostAndPort.exec(host)?.[1]
  if (sent === undefined) return null
  if (asciiName.test(sent)) return (sent.endsWith('.') ? sent.slice(0, -1) : sent).toLowerCase()
  // Node decodes headers as Latin-1.
  const parsed = parseHostName(Buffer.from(sent, 'latin1').toString('utf8'))
  return parsed instanceof Refusal ? null : parsed.name
}

/** Returns the port of a Host header, as the URL Standard writes it; empty if it has none. */
export function portOf(host: string): string {
  const digits = hostAndPort.exec(host)?.[2] ?? ''
  return digits === '' ? '' : String(Number(digits))
}

export type VisitedPath =
  | { readonly kind: 'homepage' }
  | { readonly kind: 'robots' | 'favicon' }
  /** Not valid percent-encoding or UTF-8, or longer than any alias. */
  | { readonly kind: 'undecodable' }
  /** `alias` is case-folded, as in lookups of links. */
  | { readonly kind: 'alias'; readonly alias: string; readonly asksForPreview: boolean }

interface VisitedTarget {
  readonly path: VisitedPath
  /** The text after the `?`, verbatim; empty if there is none. */
  readonly query: string
}

/** UTF-16 units of an alias of 128 code points, even if it is decomposed. Normalization takes quadratic time. */
const maxAliasLength = 512
/** Lower-case ASCII without percent signs: decoding and folding would change nothing. */
const isPlain = /^[a-z\d_.~/-]*$/

/** Reads a request target in origin form. The path is percent-decoded once; one trailing slash is ignored. */
export function parseTarget(target: string): VisitedTarget {
  const fragment = target.indexOf('#')
  const sent = fragment < 0 ? target : target.slice(0, fragment)
  const mark = sent.indexOf('?')
  if (mark < 0) return { path: parsePath(sent), query: '' }
  return { path: parsePath(sent.slice(0, mark)), query: sent.slice(mark + 1) }
}

function parsePath(path: string): VisitedPath {
  if (!path.startsWith('/')) return { kind: 'undecodable' }
  const encoded = path.slice(1)
  const text = isPlain.test(encoded) ? encoded : decodePercent(encoded)
  // No alias has U+0000, which PostgreSQL rejects.
  if (text === null || text.length > maxAliasLength || text.includes('\0')) return { kind: 'undecodable' }
  const decoded = text.endsWith('/') ? text.slice(0, -1) : text
  if (decoded === '') return { kind: 'homepage' }
  const asksForPreview = decoded.endsWith('+')
  const alias = foldCase(asksForPreview ? decoded.slice(0, -1) : decoded)
  if (asksForPreview) return { kind: 'alias', alias, asksForPreview }
  if (alias === 'robots.txt') return { kind: 'robots' }
  return alias === 'favicon.ico' ? { kind: 'favicon' } : { kind: 'alias', alias, asksForPreview }
}
