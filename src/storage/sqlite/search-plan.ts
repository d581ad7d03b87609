import { trigramsOf } from './trigrams.ts'

/** How a term is looked up in the index. */
export interface SearchPlan {
  /** An FTS5 query. */
  readonly match: string
  /** Whether every record that matches contains the term; otherwise each must be looked at. */
  readonly isExact: boolean
}

/**
 * Looks for the parts of the term that tell records apart. Trigrams that most records have are left out, since FTS5
 * would read where each of them occurs; a term that has no others is looked up as it is.
 */
export function planSearch(term: string, dense: ReadonlySet<string>): SearchPlan {
  const points = [...term]
  const trigrams = trigramsOf(term)
  const runs: string[] = []
  let start = 0
  for (let at = 0; at <= trigrams.length; at++) {
    const trigram = trigrams[at]
    if (trigram !== undefined && !dense.has(trigram)) continue
    // A run of n trigrams spans n + 2 code points.
    if (at > start) runs.push(points.slice(start, at + 2).join(''))
    start = at + 1
  }
  const isExact = runs.length === 0 || runs[0] === term
  return { match: (isExact ? [term] : runs).map(quoted).join(' AND '), isExact }
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
