/** Rules and explanations in words. */
import { exactTime } from '../lib/format.ts'
import { decodePercent } from '../lib/text.ts'
import { displayName } from '../names/display-names.ts'
import { conditions } from './conditions.ts'
import type { Explanation } from './explanation.ts'
import type { ConditionName, RedirectRule } from './rule.ts'

/** The parameters of a query. Null stands for any value. */
export type Parameters = Readonly<Record<string, string | null>>

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

/** Returns the text of one value of a list, such as Germany for DE. */
export function listedValue(name: ConditionName, value: string | number): string {
  if (name === 'weekdays') return weekdays[Number(value) - 1] ?? String(value)
  return displayName(name, String(value))
}

/** Formats the parameters of a query, such as `utm_source=mail` and `ref`, so that a list with commas can be read back. */
export function queryParts(parameters: Parameters): string[] {
  return Object.entries(parameters).map(([name, value]) => {
    const start = name.replace(/[%,&=]/g, encodeURIComponent)
    return value === null ? start : `${start}=${value.replace(/[%,&]/g, encodeURIComponent)}`
  })
}

/** Reads a parameter that `queryParts` has written. */
export function readQueryPart(part: string): [name: string, value: string | null] {
  const decoded = (text: string) => decodePercent(text) ?? text
  const at = part.indexOf('=')
  return at === -1 ? [decoded(part), null] : [decoded(part.slice(0, at)), decoded(part.slice(at + 1))]
}

/** Returns a condition in words: "the country is Germany or Austria". Times are in this zone. */
export function conditionText(name: ConditionName, rule: RedirectRule, timeZone: string): string {
  const [values, separator] = describeValues(name, rule, timeZone)
  return `${conditions[name].words} ${values.join(separator)}`
}

/** Returns the values of a condition as people read them, and the word before the last. */
export function describeValues(
  name: ConditionName,
  rule: RedirectRule,
  timeZone: string,
): readonly [values: string[], beforeLast: string] {
  const value: unknown = rule[name]
  if (Array.isArray(value)) return [value.map((each) => shownValue(name, each)), ' or ']
  const { control } = conditions[name]
  if (control === 'query') return [queryParts(value as Parameters), ' and ']
  const text = String(value)
  const isTime = control === 'time' && !Number.isNaN(Date.parse(text))
  return [[isTime ? exactTime(text, timeZone) : text], '']
}

function shownValue(name: ConditionName, value: string | number): string {
  const text = listedValue(name, value)
  // Only the abbreviation TV has capitals within a sentence.
  return name === 'devices' && text !== 'TV' ? text.toLowerCase() : text
}

/** Returns the words before and after the location that a visitor gets; all of them are before if there is none. */
export function describeOutcome({ kind, status, location }: Explanation): readonly [before: string, after: string] {
  const shown = kind === 'redirect' ? undefined : pages[kind]
  if (location === null) return [`${shown?.says} (${status}).`, '']
  return ['Redirects to ', ` (${status})${shown === undefined ? '' : `, because ${shown.reason}`}.`]
}

const itself = 'the link is disabled or not active yet, or redirects to itself'
const pages = {
  password: { says: 'Asks for the password', reason: '' },
  preview: { says: 'Shows the preview of the link', reason: '' },
  expired: { says: 'Says that the link has expired', reason: 'the link has expired' },
  not_found: {
    says: `Says that there is no such link, because ${itself}`,
    reason: 'the link is disabled or not active yet',
  },
}

/** Names what decided the destination; null if the response has none, or the link has no rules. */
export function describeDecision({ kind, class: type, rule, variant, checks }: Explanation): string | null {
  if (kind !== 'redirect' || checks.length === 0) return null
  if (rule === null) {
    return type === 'person'
      ? 'No rule matches: visitors get the URL of the link.'
      : 'Bots and previews get the URL of the link.'
  }
  const position = checks.findIndex((check) => check.rule === rule) + 1
  return `Decided by rule ${position}, ${rule}${variant === null ? '' : `, which drew its destination ${variant}`}.`
}
