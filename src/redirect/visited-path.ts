/** What the target of a visitor's request asks for. Pure. */
import { foldCase } from '../lib/fold-case.ts'

export type VisitedPath =
  | { readonly kind: 'homepage' }
  | { readonly kind: 'robots' }
  | { readonly kind: 'favicon' }
  /** Not valid percent-encoding or UTF-8, or longer than any alias: no link can have it. */
  | { readonly kind: 'undecodable' }
  /** `alias` is folded, as links are looked up. */
  | { readonly kind: 'alias'; readonly alias: string; readonly asksForPreview: boolean }

/** A target in two parts. */
export interface VisitedTarget {
  readonly path: VisitedPath
  /** What follows the `?`, as it was sent; empty if nothing does. */
  readonly query: string
}

/** UTF-16 units of an alias of 128 code points, however it is decomposed. Normalization takes quadratic time. */
const maxAliasLength = 512
/** Neither percent-encoded nor beyond ASCII nor in upper case, so that decoding and folding would change nothing. */
const isPlain = /^[a-z\d_.~/-]*$/

/** Reads a request target in origin form. The path is percent-decoded once; one trailing slash is ignored. */
export function visitedTarget(target: string): VisitedTarget {
  const fragment = target.indexOf('#')
  const sent = fragment < 0 ? target : target.slice(0, fragment)
  const mark = sent.indexOf('?')
  if (mark < 0) return { path: visitedPath(sent), query: '' }
  return { path: visitedPath(sent.slice(0, mark)), query: sent.slice(mark + 1) }
}

function visitedPath(path: string): VisitedPath {
  if (!path.startsWith('/')) return undecodable
  const encoded = path.slice(1)
  const text = isPlain.test(encoded) ? encoded : decode(encoded)
  if (text === null || text.length > maxAliasLength) return undecodable
  const decoded = text.endsWith('/') ? text.slice(0, -1) : text
  if (decoded === '') return homepage
  const asksForPreview = decoded.endsWith('+')
  const alias = foldCase(asksForPreview ? decoded.slice(0, -1) : decoded)
  if (asksForPreview) return { kind: 'alias', alias, asksForPreview }
  if (alias === 'robots.txt') return robots
  return alias === 'favicon.ico' ? favicon : { kind: 'alias', alias, asksForPreview }
}

/** Text from percent-encoded UTF-8; null if it is not. */
function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}

const homepage = { kind: 'homepage' } as const
const robots = { kind: 'robots' } as const
const favicon = { kind: 'favicon' } as const
const undecodable = { kind: 'undecodable' } as const
