/**
 * Days as parameters of a statement. The primary key of days has the day before the id, so that a range of days would walk
 * through all ids: statements name each day, and so take a fixed number of them. Pure.
 */

import type { Span } from '../../storage/clicks/day-parts.ts'

/** Days that one statement reads: full ones take the event loop a few milliseconds, and those of two statements may share a turn. */
export const readAtOnce = 12

/** `day0`, `day1` and so on. */
export type Days = Readonly<Record<`day${number}`, number>>

/** No day that is stored. */
const noDay = -1

/** The parameters for as many days as are read at once, from `first` on, without those after `last`. */
export function parametersFrom(first: number, last: number): Days {
  const dayAfter = (n: number) => (first + n > last ? noDay : first + n)
  return Object.fromEntries(Array.from({ length: readAtOnce }, (_, n) => [`day${n}`, dayAfter(n)]))
}

/** The values of `count` parameters. */
export function daysIn(parameters: Days, count: number): number[] {
  return Array.from({ length: count }, (_, n) => parameters[`day${n}`] as number)
}

/** Links whose days one statement reads: full ones of all of them take the event loop some milliseconds. */
export const linksAtOnce = 9

/** `link0`, `link1` and so on. */
export type Links = Readonly<Record<`link${number}`, number>>

/** No link that is stored. */
const noLink = -1

/** The parameters for as many links as are read at once. */
export function linkParametersOf(links: readonly number[]): Links {
  return Object.fromEntries(Array.from({ length: linksAtOnce }, (_, n) => [`link${n}`, links[n] ?? noLink]))
}

/** The values of the parameters. */
export function linksIn(parameters: Links): number[] {
  return Array.from({ length: linksAtOnce }, (_, n) => parameters[`link${n}`] as number)
}

/** A part of a day. */
export interface DayPart extends Span {
  readonly day: number
}

/** The same with `at0`, `bytes0` and so on. */
export type Parts = Days & Readonly<Record<`at${number}` | `bytes${number}`, number>>

const noPart: DayPart = { day: noDay, at: 0, bytes: 0 }

/** The parameters for parts of days: no more than are read at once. */
export function parametersOf(parts: readonly DayPart[]): Parts {
  const parameters: Record<string, number> = {}
  for (let n = 0; n < readAtOnce; n++) {
    const { day, at, bytes } = parts[n] ?? noPart
    Object.assign(parameters, { [`day${n}`]: day, [`at${n}`]: at, [`bytes${n}`]: bytes })
  }
  return parameters as Parts
}
