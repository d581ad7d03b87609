/** Breakdowns and their values, as people read them. Pure. */
import { isHost } from '../../analytics/capture/facts.ts'
import { html, type Part } from '../../http/html.ts'
import { displayName } from '../../names/display-names.ts'

/** Breakdowns by their name in the API. `path` is the last part of the URL with all values. */
export const breakdowns = {
  countries: { title: 'Countries', one: 'Country', path: 'countries' },
  referrers: { title: 'Referrers', one: 'Referrer', path: 'referrers' },
  browsers: { title: 'Browsers', one: 'Browser', path: 'browsers' },
  operating_systems: { title: 'Operating systems', one: 'Operating system', path: 'operating-systems' },
  devices: { title: 'Devices', one: 'Device', path: 'devices' },
  languages: { title: 'Languages', one: 'Language', path: 'languages' },
  rules: { title: 'Rules', one: 'Rule', path: 'rules' },
  links: { title: 'Top links', one: 'Link', path: 'top-links' },
  spaces: { title: 'Spaces', one: 'Space', path: 'top-spaces' },
  domains: { title: 'Domains', one: 'Domain', path: 'top-domains' },
} as const

export type BreakdownName = keyof typeof breakdowns
export type PropertyName = Exclude<BreakdownName, 'links' | GroupName>
export type GroupName = keyof typeof groups

/** The breakdowns of the account by the groups of its links, and the text for clicks outside of any group. */
export const groups = {
  spaces: { level: 'space', without: 'No space' },
  domains: { level: 'domain', without: 'Deleted domains' },
} as const

export function isGroup(name: BreakdownName): name is GroupName {
  return name in groups
}

/** The breakdowns by a property of visits, without the rules, which only links have. */
export const propertyNames = Object.keys(breakdowns).filter((name) => isProperty(name) && name !== 'rules')

export function isProperty(name: string): name is PropertyName {
  return name !== 'links' && !(name in groups)
}

const unknown: Readonly<Partial<Record<PropertyName, string>>> = {
  referrers: 'Direct or unknown',
  rules: 'The link’s destination',
}

/** Returns the text of a value: `Germany` for `DE`, `German` for `de`. */
export function valueText(name: PropertyName, value: string | number | null): string {
  if (value === null) return unknown[name] ?? 'Unknown'
  const text = String(value)
  // A rule can have any name.
  if (text === 'other' && name !== 'rules') return 'Others'
  return displayName(name, text)
}

/** Renders the text of a value, and the flag of a country. */
export function valueLabel(name: PropertyName, value: string | number | null): Part {
  const text = valueText(name, value)
  if (value === null || value === 'other' || name === 'languages') return text
  if (name !== 'countries') return html`<bdi>${text}</bdi>`
  const flag = countryFlag(String(value))
  return html`${flag && html`<span class="flag" aria-hidden="true">${flag}</span> `}${text}`
}

/** Stands for direct clicks and unknown referrers in a path. No host name is a hyphen. */
const direct = '-'

/**
 * Returns the path of the page with the links visited from a referrer, below the path of the subject; null for others,
 * which have no page.
 */
export function referrerPath(path: string, referrer: string | number | null): string | null {
  if (referrer === 'other' || typeof referrer === 'number') return null
  return `${path}/referrers/${referrer === null ? direct : encodeURIComponent(referrer)}/links`
}

/** Returns the referrer of `referrerPath` from its part of the path; undefined for any other text. */
export function referrerIn(part: string): string | null | undefined {
  if (part === direct) return null
  return isHost(part) && part !== 'other' ? part : undefined
}

/** Returns the flag of a two-letter country code; null for other text. */
function countryFlag(code: string): string | null {
  if (!/^[A-Z]{2}$/.test(code)) return null
  const regionalA = 0x1f1e6
  return String.fromCodePoint(...[...code].map((letter) => regionalA + letter.charCodeAt(0) - 'A'.charCodeAt(0)))
}
