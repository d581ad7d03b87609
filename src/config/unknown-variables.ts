/**
 * Variables that nothing reads, although their names say that someone meant them to be read. Pure.
 */
import { distance } from 'fastest-levenshtein'

/** Short names are near to too many. */
const shortest = 8
/** From this length on, two letters may be wrong; below, one. */
const long = 10

/**
 * A sentence for each variable that is set, is none of `known` and is probably one of them misspelt, or is named as those of
 * clicks are. The environment has many others, which are none of Waymark's business.
 */
export function strangersIn(names: readonly string[], known: readonly string[]): string[] {
  const all = known.flatMap((name) => [name, `${name}_FILE`])
  return names
    .filter((name) => !all.includes(name))
    .flatMap((name) => {
      const meant = nearest(name, all)
      if (meant !== undefined) return [`${name} is no variable of Waymark, and is ignored. Did you mean ${meant}?`]
      return name.startsWith('CLICKS_')
        ? [`${name} is no variable of Waymark, and is ignored. docs/configuration.md lists all of them.`]
        : []
    })
}

function nearest(name: string, known: readonly string[]): string | undefined {
  const near = known
    .filter((each) => each.length >= shortest)
    .map((each) => ({ each, steps: distance(each, name.toUpperCase()) }))
    .filter(({ each, steps }) => steps <= (each.length >= long ? 2 : 1))
  return near.sort((a, b) => a.steps - b.steps)[0]?.each
}
