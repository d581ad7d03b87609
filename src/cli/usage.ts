import { distance } from 'fastest-levenshtein'

/** The program as users run it in any folder where Waymark is installed. */
export const program = 'npx waymark'

/** An invalid command line: the message and the usage are printed, and the exit code is 2. */
export class WrongUse extends Error {}

/** Returns a suggestion of the most similar name, with a leading space; '' if no name is similar. */
export function didYouMean(word: string, names: readonly string[]): string {
  const lower = word.toLowerCase()
  const [nearest] = names
    .map((name) => ({ name, steps: distance(name, lower) }))
    .filter(({ name, steps }) => steps <= Math.max(2, name.length / 3))
    .sort((a, b) => a.steps - b.steps)
  return nearest === undefined ? '' : ` Did you mean "${nearest.name}"?`
}
