/** Bounds the work on a header. Browsers send a handful of languages. */
const maxLength = 512
/** RFC 9110 §12.5.4: a language range and its weight. Only the primary subtag counts here. */
const preference = /^\s*([a-z]{2,3}|\*)(?:[-_][a-z\d_-]*)?\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i
/** Old codes and their replacements (RFC 5646 §2.2.1). */
const replaced: Readonly<Record<string, string>> = { iw: 'he', in: 'id', ji: 'yi', jw: 'jv', mo: 'ro' }

/** Returns the preferred primary subtag of an `Accept-Language` header in lower case; null for none or any. */
export function languageOf(header: string): string | null {
  let best: string | null = null
  let bestWeight = 0
  for (const part of header.slice(0, maxLength).split(',')) {
    const [, subtag, weight = '1'] = preference.exec(part) ?? []
    if (subtag === undefined || Number(weight) <= bestWeight) continue
    best = subtag.toLowerCase()
    bestWeight = Number(weight)
  }
  return best === null || best === '*' ? null : (replaced[best] ?? best)
}
