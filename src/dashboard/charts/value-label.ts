/** What people read for the values that clicks are broken down by. */
import { type Html, html } from '../../http/html.ts'

const regions = new Intl.DisplayNames('en-GB', { type: 'region', fallback: 'none' })
const languages = new Intl.DisplayNames('en-GB', { type: 'language', fallback: 'none' })

const devices: ReadonlyMap<string, string> = new Map([
  ['desktop', 'Desktop'],
  ['mobile', 'Mobile'],
  ['tablet', 'Tablet'],
  ['tv', 'TV'],
])

/**
 * The label of a value of the breakdown `name`, as the statistics name both. A link's id is only a number here: those who
 * know the link show its address instead.
 */
export function valueLabel(name: string, value: string | number | null): Html {
  if (value === null) return html`${name === 'referrers' ? 'Direct or unknown' : 'Unknown'}`
  if (typeof value === 'number') return html`#${value}`
  if (value === 'other') return html`Other`
  if (name === 'languages') return html`${languageName(value)}`
  if (name !== 'countries') return html`<bdi>${(name === 'devices' && devices.get(value)) || value}</bdi>`
  const flag = countryFlag(value)
  return html`${flag && html`<span class="flag" aria-hidden="true">${flag}</span> `}${countryName(value)}`
}

/** `Germany` for `DE`; the code itself where it is no country's. */
function countryName(code: string): string {
  return nameIn(regions, code)
}

/** Two letters that systems show as a flag; null for what is no code of two letters. */
function countryFlag(code: string): string | null {
  if (!/^[A-Z]{2}$/.test(code)) return null
  const regionalA = 0x1f1e6
  return String.fromCodePoint(...[...code].map((letter) => regionalA + letter.charCodeAt(0) - 'A'.charCodeAt(0)))
}

/** `German` for `de`; the code itself where it is no language's. */
function languageName(code: string): string {
  return nameIn(languages, code)
}

function nameIn(names: Intl.DisplayNames, code: string): string {
  try {
    return names.of(code) ?? code
  } catch {
    // It throws for what cannot be a code.
    return code
  }
}
