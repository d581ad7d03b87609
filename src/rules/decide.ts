/** Decides which destination of a link a visitor gets. Pure. */
import { type Calendar, calendarOf } from '../accounts/calendar.ts'
import { type LocalTime, matchers, type RuleVisitor } from './matchers.ts'
import { type ConditionName, type Conditions, parseRules, type RedirectRule, variantName } from './rule.ts'

type Test = (visitor: RuleVisitor, time: LocalTime) => boolean

interface ReadyRule {
  readonly name: string
  readonly tests: readonly (readonly [name: ConditionName, passes: Test])[]
  /** The index of the rule's first destination among those of the link. */
  readonly destination: number
  /** The weights of variants; null for a single destination. */
  readonly weights: readonly number[] | null
}

/** Rules that are ready to be decided. */
export interface ReadyRules {
  readonly calendar: Calendar
  readonly rules: readonly ReadyRule[]
  /** The approximate memory in bytes. */
  readonly weight: number
  /** Data that must be loaded before they can be decided. */
  readonly needs: ReadonlySet<'country' | 'draw'>
}

/** The decision for a visitor. */
export interface RuleDecision {
  /** The index among the link's destinations: 0 is the link's URL, and those of the rules follow in their order. */
  readonly destination: number
  /** The name of the rule; null for the link's URL. */
  readonly rule: string | null
  /** The position of the variant, from 1; null without variants. */
  readonly variant: number | null
}

/** The decision for visitors who match no rule, and for bots and previews. */
export const noRule: RuleDecision = { destination: 0, rule: null, variant: null }

/** Returns the rules of a stored link; null if it has none. `timeZones` are those of its account. */
export function readyRules(stored: string | null, timeZones: string): ReadyRules | null {
  if (stored === null) return null
  const needs = new Set<'country' | 'draw'>()
  let destination = 1
  const rules = parseRules({ rules: stored }).map((rule) => {
    const ready = readyRule(rule, destination)
    destination += ready.weights?.length ?? 1
    if (ready.weights !== null) needs.add('draw')
    if (rule.countries !== undefined) needs.add('country')
    return ready
  })
  const tests = rules.reduce((sum, rule) => sum + rule.tests.length, 0)
  return { calendar: calendarOf(timeZones), rules, weight: 2 * stored.length + 200 * tests, needs }
}

const matched = Object.keys(matchers) as ConditionName[]

function readyRule(rule: RedirectRule, destination: number): ReadyRule {
  const names = matched.filter((name) => rule[name] !== undefined)
  const weights = rule.urls?.map(({ weight }) => weight) ?? null
  return { name: rule.name, tests: names.map((name) => [name, createTest(rule, name)]), destination, weights }
}

function createTest(rule: Conditions, name: ConditionName): Test {
  const { [name]: matches } = matchers
  return (visitor, time) => matches(rule[name] as never, visitor, time, rule)
}

/** Returns the decision for a visitor. `draw` returns a number from 0 up to 1. */
export function decide({ calendar, rules }: ReadyRules, visitor: RuleVisitor, draw: () => number): RuleDecision {
  const time = toLocalTime(calendar, visitor.atMs)
  for (const { name, tests, destination, weights } of rules) {
    if (!tests.every(([, passes]) => passes(visitor, time))) continue
    if (weights === null) return { destination, rule: name, variant: null }
    const picked = pickByWeight(weights, draw())
    return { destination: destination + picked, rule: name, variant: picked + 1 }
  }
  return noRule
}

/** Returns the index of a weight. `fraction` is from 0 up to 1: each weight has its share of these numbers, in order. */
export function pickByWeight(weights: readonly number[], fraction: number): number {
  let left = fraction * weights.reduce((sum, weight) => sum + weight, 0)
  const index = weights.findIndex((weight) => {
    left -= weight
    return left < 0
  })
  return index === -1 ? weights.length - 1 : index
}

/** Returns for each rule the conditions that a visitor does not match. */
export function failedConditions({ calendar, rules }: ReadyRules, visitor: RuleVisitor) {
  const time = toLocalTime(calendar, visitor.atMs)
  return rules.map(({ name, tests }) => {
    const failed = tests.filter(([, passes]) => !passes(visitor, time)).map(([condition]) => condition)
    return { rule: name, matches: failed.length === 0, failed }
  })
}

/** Returns how statistics name a decision; null for the link's URL. */
export function nameInStatistics({ rule, variant }: RuleDecision): string | null {
  return rule === null || variant === null ? rule : variantName(rule, variant)
}

const [minuteMs, minutesPerDay] = [60_000, 1_440]

function toLocalTime(calendar: Calendar, atMs: number): LocalTime {
  const minutes = Math.floor(calendar.localTimeAt(atMs) / minuteMs)
  const day = Math.floor(minutes / minutesPerDay)
  // 1970-01-01 was a Thursday.
  return { weekday: ((((day + 3) % 7) + 7) % 7) + 1, minute: minutes - day * minutesPerDay }
}
