/**
 * Days as parameters of a statement. The primary key of days has the day before the id, so that a range of days would walk
 * through all ids: statements name each day, and so take a fixed number of them. Pure.
 */

/** Days that one statement reads: they take the event loop a few milliseconds. */
export const readAtOnce = 12
/** Days that one transaction changes: full ones take the event loop some milliseconds. */
export const changedAtOnce = 2

/** `day0`, `day1` and so on. */
export type Days = Readonly<Record<`day${number}`, number>>

/** No day that is stored. */
const noDay = -1

/** The parameters for at most `count` days. */
export function parametersOf(days: readonly number[], count: number): Days {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`day${n}`, days[n] ?? noDay]))
}

/** The parameters for as many days as are read at once, from `first` on, without those after `last`. */
export function parametersFrom(first: number, last: number): Days {
  const length = Math.min(readAtOnce, last - first + 1)
  return parametersOf(
    Array.from({ length }, (_, n) => first + n),
    readAtOnce,
  )
}

/** The values of `count` parameters. */
export function daysIn(parameters: Days, count: number): number[] {
  return Array.from({ length: count }, (_, n) => parameters[`day${n}`] as number)
}
