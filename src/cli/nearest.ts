import { distance } from 'fastest-levenshtein'

/** A sentence that asks for the nearest of the names, with a space before it; '' when none is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const wanted = word.toLowerCase()
  const [nearest] = names
    .map((name) => ({ name, steps: distance(name, wanted) }))
    .filter(({ name, steps }) => steps <= Math.max(2, name.length / 3))
    .sort((a, b) => a.steps - b.steps)
  return nearest === undefined ? '' : ` Did you mean "${nearest.name}"?`
}
