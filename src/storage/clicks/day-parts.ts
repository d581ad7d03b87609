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

/** A dimension that the head of its day has. Values before it are passed over. Throws as `decodeDay` does. */
export function decodeBreakdown(head: Uint8Array, wanted: Dimension): Breakdown {
  const reader = new Reader(head)
  const people = peopleOf({ hours: readHours(reader) })
  if (people === 0) return new Map()
  const singles = reader.byte()
  const place = dimensions.indexOf(wanted)
  for (let before = 0; before < place; before++) passOver(reader, isAmong(singles, before))
  return readBreakdown(reader, isAmong(singles, place), people)
}

/** A dimension from the bytes of a span that has it, and the head of its day. Throws as `decodeDay` does. */
export function decodeSpan(head: Uint8Array, { at }: Span, bytes: Uint8Array, wanted: Dimension): Breakdown {
  const reader = new Reader(head)
  const people = peopleOf({ hours: readHours(reader) })
  const place = dimensions.indexOf(wanted)
  const begin = placesIn(head)?.[place] as number
  return readBreakdown(new Reader(bytes.subarray(begin - at)), isAmong(reader.byte(), place), people)
}

function passOver(reader: Reader, isSingle: boolean): void {
  for (let left = isSingle ? 1 : reader.number(); left > 0; left--) {
    reader.skipValue()
    if (!isSingle) reader.number()
  }
}
