/** Aliases that spreadsheets have changed, because they read them as numbers, dates or truth values. */
import { foldCase } from '../lib/text.ts'

/** What an alias may have been: folded aliases, and the first and last of a range of numbers. */
export interface Originals {
  readonly keys: readonly string[]
  readonly range?: readonly [from: string, to: string]
}

/** Numbers with an exponent, as spreadsheets write them, such as 1.23E+05 and 1,23E+05. */
export const exponent = /^(\d)(?:[.,](\d{1,14}))?E\+?(\d{1,2})$/i
const maxDigits = 20
const translated: ReadonlyMap<string, string> = new Map([
  ...'WAHR VRAI VERDADERO VERO VERDADEIRO WAAR SANT SAND SANN PRAWDA PRAVDA TOSI IGAZ DOĞRU ИСТИНА'
    .split(' ')
    .map((word) => [foldCase(word), 'true'] as const),
  ...'FALSCH FAUX FALSO ONWAAR FALSKT FALSK USANN FAŁSZ NEPRAVDA EPÄTOSI HAMIS YANLIŞ ЛОЖЬ'
    .split(' ')
    .map((word) => [foldCase(word), 'false'] as const),
])

/** Returns what an alias was if a spreadsheet has changed it; null if it doesn't look so. */
export function originalsOf(alias: string): Originals | null {
  const word = translated.get(foldCase(alias))
  if (word !== undefined) return { keys: [word] }
  if (/^\d{1,17}$/.test(alias)) return { keys: ['0', '00', '000'].map((zeros) => zeros + alias) }
  return numberRange(alias) ?? dateSpellings(alias)
}

function numberRange(alias: string): Originals | null {
  const [, first = '', rest = '', power = ''] = exponent.exec(alias) ?? []
  const zeros = Number(power) - rest.length
  if (first === '' || zeros < 0 || Number(power) >= maxDigits) return null
  const [value, half] = [BigInt(first + rest) * 10n ** BigInt(zeros), 10n ** BigInt(zeros) / 2n]
  return { keys: [], range: [String(value - half).padStart(Number(power) + 1, '0'), String(value + half)] }
}

const dates = [
  /^(\d{1,2})[-./](\d{1,2})[-./]((?:\d\d)?\d\d)$/,
  /^(?<year>\d{4})[-./](\d{1,2})[-./](\d{1,2})$/,
  /^(\d{1,2})[-.]{1,2}([a-z]{3,9})\.?(?:-((?:\d\d)?\d\d))?$/i,
  /^([a-z]{3,9})[-.]{1,2}(\d{1,4})$/i,
]

/** Returns how people write the day and the month of a date, such as 3-4, 03/04 and mar4. */
function dateSpellings(alias: string): Originals | null {
  const found = dates.map((date) => date.exec(alias)).find((match) => match !== null)
  if (found == null) return null
  const [one = '', other = '', third] = found.slice(found.groups?.year === undefined ? 1 : 2)
  const pair = [one, other].map((part) => (/^\d/.test(part) ? Number(part) : monthNumber(part)))
  if (pair.includes(0)) return null
  const year = found.groups?.year ?? third
  const pairs = [pair, pair.toReversed()] as [number, number][]
  const keys = pairs.flatMap(([a, b]) => [
    ...['-', '/', '.', '_'].flatMap((mark) => [
      `${a}${mark}${b}`,
      `${pad(a)}${mark}${pad(b)}`,
      ...(year === undefined ? [] : [`${a}${mark}${b}${mark}${year}`, `${year}${mark}${a}${mark}${b}`]),
    ]),
    ...[`${b}`, pad(b)].flatMap((day) => {
      const name = months[a - 1] ?? ''
      return [`${name}${day}`, `${name}-${day}`, `${day}${name}`, `${day}-${name}`]
    }),
  ])
  return { keys: [...new Set(keys)].filter((key) => key !== foldCase(alias)) }
}

function pad(number: number): string {
  return String(number).padStart(2, '0')
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/** Returns 0 for another word. */
function monthNumber(name: string): number {
  return months.indexOf(name.slice(0, 3).toLowerCase()) + 1
}
