/** Rules of links as sentences, and the values of their conditions as people read them. */

import { type Html, html, type Part } from '../../http/html.ts'
import { memoized } from '../../lib/lru-cache.ts'
import { displayName } from '../../names/display-names.ts'
import { conditionNames, conditions } from '../../rules/conditions.ts'
import type { ConditionName, RedirectRule } from '../../rules/rule.ts'
import { describeValues, listedValue } from '../../rules/words.ts'
import { formatPercent, listed } from './format.ts'

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
  return codes.filter((code) => Intl.getCanonicalLocales(code)[0] === code && displayName('languages', code) !== code)
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

/** Renders a condition in words: "the country is Germany or Austria". Times are in this zone. */
export function conditionSentence(name: ConditionName, rule: RedirectRule, timeZone: string): Html {
  const [values, beforeLast] = describeValues(name, rule, timeZone)
  return html`${conditions[name].words} ${listed(values.map(isolated), beforeLast)}`
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
