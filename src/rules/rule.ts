/** The rules of a link, as its row has them: a list that determines the destination of each visitor, stored as JSON. */

/** The conditions of a rule by name, as records have them. */
export interface Conditions {
  readonly countries?: readonly string[]
  readonly languages?: readonly string[]
  readonly devices?: readonly string[]
  readonly operating_systems?: readonly string[]
  readonly browsers?: readonly string[]
  readonly query?: Readonly<Record<string, string | null>>
  readonly from?: string
  readonly until?: string
  readonly weekdays?: readonly number[]
  readonly hours?: string
}

export type ConditionName = keyof Conditions

export interface Variant {
  readonly url: string
  readonly weight: number
}

/** A rule as records have it: with a URL, or with variants. */
export interface RedirectRule extends Conditions {
  readonly name: string
  readonly url?: string
  readonly urls?: readonly Variant[]
}

/** Returns the JSON of checked rules; null for none. */
export function storedRules(rules: readonly RedirectRule[] | null): string | null {
  return rules === null || rules.length === 0 ? null : JSON.stringify(rules)
}

/** Returns the rules of a stored link. */
export function parseRules({ rules }: { readonly rules: string | null }): readonly RedirectRule[] {
  return rules === null ? [] : JSON.parse(rules)
}

/** A destination of a rule, with its place in the field `rules`, such as `0.urls.1.url`. */
interface RuleDestination {
  readonly place: string
  readonly url: string
}

/** Returns the destinations of rules in their order. */
export function ruleDestinations(rules: readonly RedirectRule[]): RuleDestination[] {
  return rules.flatMap(({ url, urls }, at) =>
    url === undefined
      ? (urls ?? []).map((variant, index) => ({ place: `${at}.urls.${index}.url`, url: variant.url }))
      : [{ place: `${at}.url`, url }],
  )
}

/** Returns the value of a variant in statistics. Positions start at 1. */
export function variantName(rule: string, position: number): string {
  return `${rule} ${position}`
}

/** `HH:MM-HH:MM`. Only the end can be 24:00. */
export const hoursOfDay = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/

/** Returns the minutes from midnight to the start and to the end; null for other texts, and for a period without a minute. */
export function parseHours(text: string): { readonly start: number; readonly end: number } | null {
  const [, h = '', m, untilH, untilM] = hoursOfDay.exec(text) ?? []
  const [start, end] = [Number(h) * 60 + Number(m), Number(untilH) * 60 + Number(untilM)]
  return h !== '' && end <= minutesPerDay && start !== end ? { start, end } : null
}

const minutesPerDay = 1_440
