import type { Shares } from './dense-trigrams.ts'
import { trigramsOf } from './trigrams.ts'

/** How a term is looked up in the index. */
export interface SearchPlan {
  /** An FTS5 query. */
  readonly match: string
  /**
   * Null when what the query finds are the matches. Otherwise each that it finds must be looked at, which pays as long
   * as it finds no more than this share of the account's records.
   */
  readonly worthwhile: number | null
}

/** Reading that a record has a trigram takes about this part of the time of looking at a record. */
const readingCost = 0.02

/**
 * Looks for the parts of the term that tell records apart. Dense trigrams are left out, since FTS5 would read in how
 * many records they are; a term that has no others is looked up as it is.
 */
export function planSearch(term: string, dense: Shares): SearchPlan {
  const points = [...term]
  const trigrams = trigramsOf(term)
  const runs: string[] = []
  let leftOut = 0
  let start = 0
  for (let at = 0; at <= trigrams.length; at++) {
    const share = dense.get(trigrams[at] ?? '')
    if (at < trigrams.length && share === undefined) continue
    leftOut += share ?? 0
    // A run of n trigrams spans n + 2 code points.
    if (at > start) runs.push(points.slice(start, at + 2).join(''))
    start = at + 1
  }
  if (leftOut === 0 || runs.length === 0) return wholeTerm(term)
  return { match: runs.map(quoted).join(' AND '), worthwhile: leftOut * readingCost }
}

/** Looks the term up as it is. */
export function wholeTerm(term: string): SearchPlan {
  return { match: quoted(term), worthwhile: null }
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
