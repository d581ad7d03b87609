import type { Shares } from './dense-grams.ts'
import { beginningWith, fullGramsOf, gramLength } from './grams.ts'

/** How a term is looked up in the index. */
export interface SearchPlan {
  /** An FTS5 query. */
  readonly match: string
  /** Whether all that the query finds are matches. Otherwise each must be looked at. */
  readonly isExact: boolean
  /** No smaller a share of the account's records can be expected to have the grams that are looked up; 0 if unknown. */
  readonly share: number
}

/** Grams that are looked up together; each is read through by itself, and what they find is looked at anyway. */
const mostGrams = 3

/**
 * A term no longer than a gram is looked up as it is. A longer one by those of its grams that tell records apart: by
 * the dense ones only where it has no others.
 */
export function planSearch(term: string, dense: () => Shares): SearchPlan {
  const grams = [...new Set(fullGramsOf(term))]
  if ([...term].length <= gramLength) return { match: beginningWith(term), isExact: true, share: 0 }
  const shares = dense()
  const shareOf = (gram: string) => shares.get(gram) ?? 0
  const rare = grams.filter((gram) => shareOf(gram) === 0)
  const chosen = rare.length > 0 ? spread(rare) : grams.toSorted((a, b) => shareOf(a) - shareOf(b)).slice(0, mostGrams)
  const share = Math.min(...chosen.map(shareOf))
  return { match: chosen.map(beginningWith).join(' AND '), isExact: false, share }
}

/** Grams that overlap little: neighbours tell much the same. */
function spread(grams: readonly string[]): string[] {
  if (grams.length <= mostGrams) return [...grams]
  const distance = (grams.length - 1) / (mostGrams - 1)
  return Array.from({ length: mostGrams }, (_, nth) => grams[Math.round(nth * distance)] as string)
}
