/** Rules of links as sentences, and the values of their conditions as people read them. */

import { type Html, html, type Part } from '../../http/html.ts'
import { memoized } from '../../lib/lru-cache.ts'
import { decodePercent } from '../../lib/text.ts'
import { conditionNames, conditions } from '../../rules/conditions.ts'
import type { ConditionName, RedirectRule } from '../../rules/rule.ts'
import { valueText } from '../statistics/values.ts'
import { exactTime, formatPercent, listed } from './format.ts'

/** The parameters of a query. Null stands for any value. */
export type Parameters = Readonly<Record<string, string | null>>

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

/** Returns the text of one value of a list, such as Germany for DE. */
export function listedValue(name: ConditionName, value: string | number): string {
  if (name === 'weekdays') return weekdays[Number(value) - 1] ?? String(value)
  return name === 'countries' || name === 'languages' || name === 'devices' ? valueText(name, value) : String(value)
}

/** Returns the values of a condition that people can choose, by their texts without case and accents. */
const choosableValues: (name: ConditionName) => ReadonlyMap<string, { readonly text: string; readonly value: string }> =
  memoized((text) => {
    const name = text as ConditionName
    const options = name === 'languages' ? languageCodes() : (conditions[name].options ?? [])
    const all = options.map((value) => ({ text: listedValue(name, value), value: String(value) }))
    const sorted = all.sort((one, other) => one.text.localeCompare(other.text, 'en'))
    return new Map(sorted.map((each) => [foldName(each.text), each]))
  })

/** Returns the current codes with two letters that have an English name. */
function languageCodes(): string[] {
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode('a'.charCodeAt(0) + at))
  const codes = letters.flatMap((first) => letters.map((second) => first + second))
  return codes.filter((code) => Intl.getCanonicalLocales(code)[0] === code && valueText('languages', code) !== code)
}

function foldName(text: string): string {
  const plain = /^[ -~]*$/.test(text) ? text : text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('’', "'")
  return plain.toLowerCase()
}

/** Returns the values that people can choose, in the order of their texts. */
export function choicesOf(name: ConditionName) {
  return [...choosableValues(name).values()]
}

/** Returns the texts of values that people can choose. */
export function suggestedValues(name: ConditionName): string[] {
  return choicesOf(name).map(({ text }) => text)
}

/** Returns the value that a text names, such as DE for Germany; other text unchanged. */
export function readListedValue(name: ConditionName, text: string): string {
  return choosableValues(name).get(foldName(text))?.value ?? text
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

/** Renders a condition in words: "the country is Germany or Austria". Times are in this zone. */
export function conditionSentence(name: ConditionName, rule: RedirectRule, timeZone: string): Html {
  const [values, beforeLast] = shownValues(name, rule, timeZone)
  return html`${conditions[name].words} ${listed(values.map(isolated), beforeLast)}`
}

/** Returns the words of `conditionSentence` as text. */
export function conditionText(name: ConditionName, rule: RedirectRule, timeZone: string): string {
  const [values, separator] = shownValues(name, rule, timeZone)
  return `${conditions[name].words} ${values.join(separator)}`
}

/** Returns the values of a condition as people read them, and the word before the last. */
function shownValues(
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
  // Devices are no proper nouns, but TV is an abbreviation.
  return name === 'devices' && text !== 'TV' ? text.toLowerCase() : text
}

function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`
}

/**
 * Renders "Germany: if the country is Germany or Austria, redirect to https://acme.com/de". `target` renders a destination.
 * Crosses out conditions that failed.
 */
export function ruleSentence(
  rule: RedirectRule,
  timeZone: string,
  target: (url: string) => Part = isolated,
  failed: readonly ConditionName[] = [],
): Html {
  const clauses = conditionNames
    .filter((name) => rule[name] !== undefined)
    .map((name) => {
      const clause = conditionSentence(name, rule, timeZone)
      return failed.includes(name) ? html`<s>${clause}</s><span class="hidden-text"> (doesn’t match)</span>` : clause
    })
  const { name, url, urls = [] } = rule
  const total = urls.reduce((sum, { weight }) => sum + Number(weight), 0)
  const shares = urls.map((each) => html`${formatPercent(Number(each.weight) / total)} to ${target(each.url)}`)
  const when = clauses.length === 0 ? 'always' : html`if ${listed(clauses, ' and ')},`
  return html`<bdi>${name}</bdi>: ${when} redirect ${url === undefined ? listed(shares, ' and ') : html`to ${target(url)}`}`
}

/** Renders rules as a numbered list of sentences. Says which ones are never reached. */
export function ruleList(rules: readonly RedirectRule[], timeZone: string, target?: (url: string) => Part): Html {
  const always = rules.findIndex((rule) => conditionNames.every((name) => rule[name] === undefined))
  const items = rules.map((rule, at) => {
    const isUnreached = always !== -1 && at > always
    const note = isUnreached
      ? html` <span class="muted">(never used, because rule ${always + 1} always matches)</span>`
      : null
    return html`<li>${ruleSentence(rule, timeZone, target)}${note}</li>`
  })
  return html`<ol class="rules">${items}</ol>`
}
