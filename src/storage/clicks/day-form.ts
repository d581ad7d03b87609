/** The stored form of a day's facts: a few bytes for the usual day of a link, which one person visited. Pure.
 * A byte names the form. The hours follow: their number, and for each a byte (hour and flags) and its counts. If there are
 * people, a byte marks the dimensions with a single value, which is stored without a count; numbers are varints of base 128.
 * A day of more than `headBytes` says before its hours where each dimension begins and the last one ends: see `day-parts.ts`.
 */
import { type Breakdown, type DayFacts, dimensions, emptyDay, other, peopleOf, type Value } from './day-facts.ts'
import { inOrder } from './day-order.ts'

const [form, largeForm] = [1, 2]
/** What a day begins with: all of one that is not large, and of a large one all but its dimensions. */
export const headBytes = 1024
const placeBytes = 4
const placesEnd = 1 + placeBytes * (dimensions.length + 1)
const [hasBots, hasPreviews, allUnique] = [0x20, 0x40, 0x80]
const hourBits = 0x1f

/** What a value begins with: below 128, and where it is none of these, one more than the length of a text. */
const [isNull, isOther, isLong, isNumber] = [0, 1, 126, 127]
const shortest = 2
const longestShort = isLong - 2

/**
 * Texts of a single byte, from 128 on: at most 128, each once. Stored days refer to their places: add at the end, and change
 * nothing. Software has the names that `bowser` gives it.
 */
export const common: readonly string[] = [
  ...['desktop', 'mobile', 'tablet', 'tv'],
  ...['Windows', 'macOS', 'Linux', 'Android', 'iOS', 'Chrome OS', 'HarmonyOS', 'Tizen', 'WebOS'],
  ...['Chrome', 'Safari', 'Firefox', 'Microsoft Edge', 'Opera', 'Samsung Internet for Android', 'Chromium', 'WeChat'],
  ...['Android Browser', 'Vivaldi', 'UC Browser', 'Yandex Browser', 'DuckDuckGo', 'Electron', 'Google Search', 'Miui'],
  ...['Amazon Silk', 'Internet Explorer', 'QQ Browser', 'NAVER Whale Browser', 'HeyTap Browser', 'Vivo Browser'],
  ...['Opera Touch', 'Focus', 'WebOS Browser'],
  ...'en de fr es pt it nl pl ru uk tr ar fa hi id vi th ja ko zh sv da nb no fi cs sk hu ro bg el he'.split(' '),
  ...'US DE FR GB NL IN BR CA AU JP ES IT PL SE CH AT BE MX RU CN KR ID TR UA CZ DK FI NO IE PT RO HU GR IL'.split(' '),
  ...'SG ZA AR VN TH PH MY NZ HK TW'.split(' '),
  ...['www.google.com', 't.co', 'www.facebook.com', 'www.linkedin.com', 'www.bing.com', 'www.youtube.com'],
  ...['l.facebook.com', 'l.instagram.com', 'duckduckgo.com', 'com.google.android.gm'],
]
const placeOf = new Map(common.map((text, at) => [text, 128 + at]))

/** Grows as needed; days are encoded one at a time. */
let room = Buffer.allocUnsafe(64 * 1024)

/** The bytes of a day. */
export function encodeDay(facts: DayFacts): Uint8Array<ArrayBuffer> {
  let at = writeNumber(facts.hours.size, placesEnd)
  for (const [hour, { people, unique, bots, previews }] of facts.hours) {
    const isAll = unique === people
    room[at++] = hour | (bots > 0 ? hasBots : 0) | (previews > 0 ? hasPreviews : 0) | (isAll ? allUnique : 0)
    at = writeNumber(people, at)
    if (!isAll) at = writeNumber(unique, at)
    if (bots > 0) at = writeNumber(bots, at)
    if (previews > 0) at = writeNumber(previews, at)
  }
  const places: number[] = []
  const end = peopleOf(facts) === 0 ? at : writeBreakdowns(facts, at, places)
  return Uint8Array.prototype.slice.call(room, begin(end, places), end) as never
}

/** Writes what a day with these places begins with, and returns where that is. */
function begin(end: number, places: readonly number[]): number {
  const start = end - placesEnd < headBytes ? placesEnd - 1 : 0
  room[start] = start > 0 ? form : largeForm
  if (start === 0) for (const [at, place] of places.entries()) room.writeUInt32LE(place, 1 + placeBytes * at)
  return start
}

/** Adds to `places` where each dimension begins, and where the last one ends. */
function writeBreakdowns({ breakdowns }: DayFacts, start: number, places: number[]): number {
  let singles = 0
  for (const [place, dimension] of dimensions.entries()) if (breakdowns[dimension].size === 1) singles |= 1 << place
  let at = start
  room[at++] = singles
  for (const dimension of dimensions) {
    places.push(at)
    const breakdown = breakdowns[dimension]
    const isSingle = breakdown.size === 1
    if (!isSingle) at = writeNumber(breakdown.size, at)
    const order = inOrder(breakdown)
    for (let n = 0; n < breakdown.size; n++) {
      at = writeValue(order.values[n] as Value, at)
      if (!isSingle) at = writeNumber(order.people[n] as number, at)
    }
  }
  places.push(at)
  return at
}

function writeValue(value: Value, start: number): number {
  let at = makeRoom(start)
  if (value === null || value === other) room[at++] = value === null ? isNull : isOther
  else if (typeof value === 'number') {
    room[at++] = isNumber
    at = writeNumber(value, at)
  } else at = writeText(value, at)
  return at
}

function writeText(text: string, start: number): number {
  const place = placeOf.get(text)
  let at = start
  if (place !== undefined) {
    room[at++] = place
    return at
  }
  const bytes = Buffer.byteLength(text)
  if (bytes > 0 && bytes <= longestShort) room[at++] = bytes + shortest - 1
  else {
    room[at++] = isLong
    at = writeNumber(bytes, at)
  }
  at = makeRoom(at, bytes)
  return at + room.write(text, at)
}

function writeNumber(number: number, start: number): number {
  let at = makeRoom(start)
  let rest = number
  while (rest >= 0x80) {
    room[at++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  room[at++] = rest
  return at
}

/** Returns `at`, and makes room there for the bytes, and a few more. */
function makeRoom(at: number, bytes = 0): number {
  if (at + bytes + 64 > room.length) room = Buffer.concat([room, Buffer.allocUnsafe(room.length + bytes)])
  return at
}

/** The facts of a day that may have no row yet, or has just lost it: its bytes are empty then. */
export function factsIn(bytes: Uint8Array): DayFacts {
  return bytes.length === 0 ? emptyDay() : decodeDay(bytes)
}

/** Reads what `encodeDay` has made. Throws an `Error` for other bytes. */
export function decodeDay(bytes: Uint8Array): DayFacts {
  const reader = new Reader(bytes)
  const facts = emptyDay(readHours(reader))
  const people = peopleOf(facts)
  if (people === 0) return facts
  const singles = reader.byte()
  for (const [place, dimension] of dimensions.entries()) {
    readBreakdown(reader, isAmong(singles, place), people, facts.breakdowns[dimension])
  }
  return facts
}

/** The hours of a day, from its beginning on. Throws as `decodeDay` does. */
export function readHours(reader: Reader): DayFacts['hours'] {
  const hours: DayFacts['hours'] = new Map()
  const its = reader.byte()
  if (its === largeForm) reader.passOver(placesEnd - 1)
  else if (its !== form) throw new Error('The clicks of a day are in a form that this version does not know.')
  for (let left = reader.number(); left > 0; left--) {
    const head = reader.byte()
    const people = reader.number()
    const unique = (head & allUnique) > 0 ? people : reader.number()
    const bots = (head & hasBots) > 0 ? reader.number() : 0
    const previews = (head & hasPreviews) > 0 ? reader.number() : 0
    hours.set(head & hourBits, { people, unique, bots, previews })
  }
  return hours
}

/** Whether the dimension at a place has a single value. */
export function isAmong(singles: number, place: number): boolean {
  return (singles & (1 << place)) > 0
}

/** Where the dimensions of a large day begin, and the last one ends; null for a day that is not large. */
export function placesIn(head: Uint8Array): number[] | null {
  if (head[0] !== largeForm) return null
  const view = new DataView(head.buffer, head.byteOffset, placesEnd)
  return Array.from({ length: dimensions.length + 1 }, (_, at) => view.getUint32(1 + placeBytes * at, true))
}

/** Reads a dimension, whose values `to` gets. */
export function readBreakdown(reader: Reader, isSingle: boolean, people: number, to: Breakdown = new Map()): Breakdown {
  if (isSingle) to.set(reader.value(), people)
  else for (let left = reader.number(); left > 0; left--) to.set(reader.value(), reader.number())
  return to
}

/** Reads the parts of a day one after the other. */
export class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new Error('The clicks of a day are cut short.')
    this.#at += 1
    return byte
  }

  number(): number {
    let number = 0
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.byte()
      number += (byte & 0x7f) * factor
      if (byte < 0x80) return number
    }
  }

  /** What has not been read. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#at)
  }

  passOver(bytes: number): void {
    this.#at += bytes
  }

  value(): Value {
    const head = this.byte()
    if (head >= 0x80) return common[head - 0x80] ?? null
    if (head === isNull) return null
    if (head === isOther) return other
    if (head === isNumber) return this.number()
    return this.#text(this.#lengthOf(head))
  }

  passOverValue(): void {
    const head = this.byte()
    if (head === isNumber) this.number()
    else if (head < 0x80 && head !== isNull && head !== isOther) this.passOver(this.#lengthOf(head))
  }

  #lengthOf(head: number): number {
    return head === isLong ? this.number() : head - shortest + 1
  }

  #text(length: number): string {
    const end = this.#at + length
    const text = this.#bytes.toString('utf8', this.#at, end)
    if (end > this.#bytes.length) throw new Error('The clicks of a day are cut short.')
    this.#at = end
    return text
  }
}
