/** Aliases that spreadsheets have changed, because they read them as numbers, dates or truth values. */
import { foldCase } from '../lib/text.ts'
import { exponent } from './alias.ts'

/** An alias that has lost more digits could have been any of too many. */
const maxLostDigits = 3
const translated: ReadonlyMap<string, string> = new Map([
  ...'WAHR VRAI VERDADERO VERO VERDADEIRO WAAR SANT SAND SANN PRAWDA PRAVDA TOSI IGAZ DOĞRU ИСТИНА'
    .split(' ')
    .map((word) => [foldCase(word), 'true'] as const),
  ...'FALSCH FAUX FALSO ONWAAR FALSKT FALSK USANN FAŁSZ NEPRAVDA EPÄTOSI HAMIS YANLIŞ ЛОЖЬ'
    .split(' ')
    .map((word) => [foldCase(word), 'false'] as const),
])

/** Returns the folded aliases that an alias may have been if a spreadsheet has changed it; at most 1,000. */
export function guessOriginals(alias: string): readonly string[] {
  const word = translated.get(foldCase(alias))
  if (word !== undefined) return [word]
  if (/^\d{1,17}$/.test(alias)) return ['0', '00', '000'].map((zeros) => zeros + alias)
  return [...numbersLike(alias), ...dateSpellings(alias)]
}

/** Returns the numbers that a spreadsheet rounds to this one. */
function numbersLike(alias: string): string[] {
  const [, first = '', rest = '', power = ''] = exponent.exec(alias) ?? []
  const lost = Number(power) - rest.length
  if (first < '1' || lost < 0 || lost > maxLostDigits) return []
  const count = 10 ** lost
  const start = BigInt(first + rest) * BigInt(count) - BigInt(Math.floor(count / 2))
  return Array.from({ length: count }, (_, n) => String(start + BigInt(n)))
}

const dates = [
  /^(\d{1,2})[-./](\d{1,2})[-./]((?:\d\d)?\d\d)$/,
  /^(?<year>\d{4})[-./](\d{1,2})[-./](\d{1,2})$/,
  /^(\d{1,2})[-.]{1,2}([a-z]{3,9})\.?(?:-((?:\d\d)?\d\d))?$/i,
  /^([a-z]{3,9})[-.]{1,2}(\d{1,4})$/i,
]

/** Returns how people write the day and the month of a date, such as 3-4, 03/04 and mar4. */
function dateSpellings(alias: string): string[] {
  const found = dates.map((date) => date.exec(alias)).find((match) => match !== null)
  if (found == null) return []
  const [one = '', other = '', third] = found.slice(found.groups?.year === undefined ? 1 : 2)
  const pair = [one, other].map((part) => (/^\d/.test(part) ? Number(part) : monthNumber(part)))
  if (pair.includes(0)) return []
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
  return [...new Set(keys)].filter((key) => key !== foldCase(alias))
}

function pad(number: number): string {
  return String(number).padStart(2, '0')
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/** Returns 0 for another word. */
function monthNumber(name: string): number {
  return months.indexOf(name.slice(0, 3).toLowerCase()) + 1
}
