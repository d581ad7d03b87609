/** The language that a visitor prefers, from the `Accept-Language` header. */
import { memoized } from '../../lib/lru-cache.ts'

/** Bounds the work on a header. Browsers send a handful of languages. */
const maxLanguages = 512
/** RFC 9110 §12.5.4: a language range and its weight. Only its primary subtag is checked. */
const preference = /^\s*((?:[a-z]{2,3}|\*)(?:[-_][a-z\d_-]*)?)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i
/** Old codes and their replacements (RFC 5646 §2.2.1). */
const replaced: Readonly<Record<string, string>> = { iw: 'he', in: 'id', ji: 'yi', jw: 'jv', mo: 'ro' }

/** Returns the preferred language of a header as `normalizeLanguage` does, such as `pt-br`; null for none or any. */
export const preferredLanguage = memoized((header): string | null => {
  let best = '*'
  let bestWeight = 0
  for (const part of header.split(',')) {
    const [, tag, weight = '1'] = preference.exec(part) ?? []
    if (tag === undefined || Number(weight) <= bestWeight) continue
    best = tag
    bestWeight = Number(weight)
  }
  return best.startsWith('*') ? null : normalizeLanguage(best)
}, maxLanguages)

/** Returns a language tag in lower case, with hyphens, and without an old primary subtag. */
export function normalizeLanguage(tag: string): string {
  const [primary = '', ...subtags] = tag.toLowerCase().split(/[-_]/)
  return [replaced[primary] ?? primary, ...subtags].join('-')
}

/** Returns the primary subtag of the preferred language, such as `pt`; null for none or any. */
export function parseLanguage(header: string): string | null {
  return preferredLanguage(header)?.split('-', 1)[0] ?? null
}
