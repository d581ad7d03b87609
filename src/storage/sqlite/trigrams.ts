/** Length of what the search index is made of, in code points. */
const gram = 3

/** Whether the index can answer a search for `term`: shorter texts than a trigram are not in it. */
export function isIndexable(term: string): boolean {
  return term.length >= gram * 2 || [...term].length >= gram
}

/** The trigrams of a text, in order. */
export function trigramsOf(text: string): string[] {
  const points = [...text]
  return points.slice(gram - 1).map((_, at) => points.slice(at, at + gram).join(''))
}
