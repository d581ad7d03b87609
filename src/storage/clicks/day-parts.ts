/**
 * Parts of a day, for those who read many. The head of a day is its first `headBytes` bytes, or more: it has the hours, and of a
 * day that is not large the dimensions, too. Pure.
 */
import { type Breakdown, type DayFacts, type Dimension, dimensions, peopleOf } from './day-facts.ts'
import { isAmong, placesIn, Reader, readBreakdown, readHours } from './day-form.ts'

/** Where a part of a day is. */
export interface Span {
  /** Counted from 0. */
  readonly at: number
  readonly bytes: number
}

/** The hours of a day. Throws as `decodeDay` does. */
export function decodeHours(head: Uint8Array): DayFacts['hours'] {
  return readHours(new Reader(head))
}

/**
 * Where the bytes of dimensions are that the head of their day does not have, and of those that lie between them; null if it
 * has them.
 */
export function spanOf(head: Uint8Array, wanted: readonly Dimension[]): Span | null {
  const places = placesIn(head)
  if (places === null || head.length >= (places.at(-1) as number)) return null
  const among = wanted.map((dimension) => dimensions.indexOf(dimension))
  const at = places[Math.min(...among)] as number
  return { at, bytes: (places[Math.max(...among) + 1] as number) - at }
}

/**
 * Decodes dimensions of a day whose head this is: those that the head has, or those in `bytes`, which begin at `at`. What all of
 * them need is read once. Both functions throw as `decodeDay` does.
 */
export function decoderOf(head: Uint8Array, at = 0, bytes = head): (wanted: Dimension) => Breakdown {
  const start = new Reader(head)
  const people = peopleOf({ hours: readHours(start) })
  if (people === 0) return () => new Map()
  const singles = start.byte()
  const places = placesIn(head)
  const rest = start.rest()
  return (wanted) => {
    const place = dimensions.indexOf(wanted)
    const reader = new Reader(places === null ? rest : bytes.subarray((places[place] as number) - at))
    // A day that is not large does not say where its dimensions begin.
    if (places === null) for (let before = 0; before < place; before++) passOver(reader, isAmong(singles, before))
    return readBreakdown(reader, isAmong(singles, place), people)
  }
}

function passOver(reader: Reader, isSingle: boolean): void {
  for (let left = isSingle ? 1 : reader.number(); left > 0; left--) {
    reader.passOverValue()
    if (!isSingle) reader.number()
  }
}
