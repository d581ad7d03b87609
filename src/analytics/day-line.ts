/** Reads and writes the day of a link as a line of an export. Pure. */
import type { Violation } from '../violations.ts'
import { isHost } from './capture/facts.ts'
import {
  countPeople,
  type DayFacts,
  emptyDay,
  exportedDimensions,
  type FactDimension,
  factDimensions,
  maxValues,
  other,
  shownCounts,
  sortedValues,
  sumBreakdown,
} from './day.ts'

const hourMembers = ['hour', 'clicks', 'unique_clicks', 'bots', 'previews']

/** Returns a day as the members of its line. Clicks with values beyond the day's limit are in `other`. */
export function dayMembers(facts: DayFacts): Readonly<Record<string, unknown>> {
  const { hours, breakdowns } = facts
  const exported = exportedDimensions(facts)
  const named = exported.map((dimension) => [
    dimension,
    sortedValues(breakdowns[dimension]).filter(([value]) => value !== other),
  ])
  const others = exported.flatMap((dimension) => {
    const clicks = breakdowns[dimension].get(other)
    return clicks === undefined ? [] : [[dimension, clicks]]
  })
  return {
    hours: [...hours].sort(([a], [b]) => a - b).map(([hour, counts]) => ({ hour, ...shownCounts(counts) })),
    ...Object.fromEntries(named),
    ...(others.length > 0 && { other: Object.fromEntries(others) }),
  }
}

const isValue: Readonly<Record<FactDimension, (value: string) => boolean>> = {
  countries: (value) => /^[A-Z]{2}$/.test(value),
  referrers: (value) => value.length <= 253 && isHost(value),
  browsers: (value) => /^[\x20-\x7e]{1,64}$/.test(value),
  operating_systems: (value) => /^[\x20-\x7e]{1,64}$/.test(value),
  devices: (value) => /^(desktop|mobile|tablet|tv)$/.test(value),
  languages: (value) => /^[a-z]{2,3}$/.test(value),
  // A name, and the position of a variant.
  rules: (value) => /^[^\p{Cc}\p{Cs}]{1,60}$/u.test(value),
}

/** More than a link can have in an hour. */
const maxClicks = 1_000_000_000

/** An error in one member of a line. */
type LineError = Pick<Violation, 'field' | 'message'>

/** Reads the members of a line. The values of a missing dimension are unknown. */
export function readDay(members: Readonly<Record<string, unknown>>): { values: DayFacts; violations: LineError[] } {
  const values = emptyDay()
  const { hours, other: others = {}, ...named } = members
  const violations = [...readHours(hours, values), ...unknownMembers(named), ...readOthers(others, values)]
  for (const dimension of factDimensions) violations.push(...readValues(dimension, named[dimension] ?? [], values))
  if (violations.length > 0) return { values, violations }
  const people = countPeople(values)
  if (people > 0) values.breakdowns.addresses.set(null, people)
  for (const dimension of factDimensions) {
    const breakdown = values.breakdowns[dimension]
    if (breakdown.size === 0 && people > 0) breakdown.set(null, people)
    const sum = sumBreakdown(breakdown)
    if (sum !== people) {
      violations.push(violation(dimension, `The numbers add up to ${sum}, but the clicks of all hours to ${people}.`))
    }
  }
  return { values, violations }
}

function violation(field: string, message: string): LineError {
  return { field, message }
}

function readHours(hours: unknown, { hours: to }: DayFacts): LineError[] {
  if (!Array.isArray(hours)) return [violation('hours', 'A day needs the list of its hours.')]
  for (const each of hours) {
    if (!isHour(each)) {
      return [
        violation(
          'hours',
          `An hour has ${hourMembers.join(', ')}, and nothing else: the hour from -15 to 38 in quarters, the others from 0 to ${maxClicks}, and no more unique_clicks than clicks.`,
        ),
      ]
    }
    const { hour, clicks, unique_clicks, bots, previews } = each
    if (to.has(hour)) return [violation('hours', `The hour ${hour} is there twice.`)]
    if (clicks + bots + previews > 0) to.set(hour, { people: clicks, unique: unique_clicks, bots, previews })
  }
  return to.size > 0 ? [] : [violation('hours', 'The day has no clicks. Leave the line out.')]
}

type Hour = { readonly hour: number } & ReturnType<typeof shownCounts>

function isHour(value: unknown): value is Hour {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== hourMembers.length) return false
  const { hour, clicks, unique_clicks, bots, previews } = value as Partial<Hour>
  const areCounts = [clicks, unique_clicks, bots, previews].every((count) => isCount(count, 0))
  return isStart(hour) && areCounts && Number(unique_clicks) <= Number(clicks)
}

/** Hours start at a multiple of a quarter of an hour after 00:00 UTC, on dates from UTC+14 to UTC-12: see `accounts/calendar.ts`. */
function isStart(hour: unknown): hour is number {
  return Number.isInteger(Number(hour) * 4) && isWithin(hour, -15, 38)
}

function isCount(value: unknown, min: number): value is number {
  return Number.isInteger(value) && isWithin(value, min, maxClicks)
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

function unknownMembers(named: Readonly<Record<string, unknown>>): LineError[] {
  const unknown = Object.keys(named).filter((name) => !(factDimensions as readonly string[]).includes(name))
  return unknown.map((name) => {
    const field = name.slice(0, 64).toWellFormed()
    return violation(field, `The ${field} field is unknown.`)
  })
}

function readOthers(others: unknown, { breakdowns }: DayFacts): LineError[] {
  const entries = typeof others === 'object' && others !== null ? Object.entries(others) : [['', others]]
  for (const [name, clicks] of entries) {
    const dimension = factDimensions.find((each) => each === name)
    if (dimension === undefined || !isCount(clicks, 1)) {
      return [
        violation(
          'other',
          `The value is an object of numbers from 1 to ${maxClicks}, by ${factDimensions.join(', ')}.`,
        ),
      ]
    }
    breakdowns[dimension].set(other, clicks)
  }
  return []
}

function readValues(dimension: FactDimension, pairs: unknown, { breakdowns }: DayFacts): LineError[] {
  const to = breakdowns[dimension]
  if (!Array.isArray(pairs))
    return [violation(dimension, 'The value is a list of pairs: a value, or null, and its clicks.')]
  for (const pair of pairs) {
    const [value, clicks, ...more] = Array.isArray(pair) ? pair : []
    const isKnown = value === null || (typeof value === 'string' && isValue[dimension](value))
    if (!(isKnown && isCount(clicks, 1) && more.length === 0)) {
      const shown = JSON.stringify(pair).slice(0, 64).toWellFormed()
      return [violation(dimension, `${shown} is not a value of it, or null, and its clicks, from 1 to ${maxClicks}.`)]
    }
    if (to.has(value)) return [violation(dimension, `${value === null ? 'null' : value} is there twice.`)]
    to.set(value, clicks)
  }
  const named = [...to.keys()].filter((value) => typeof value === 'string')
  return named.length <= maxValues ? [] : [violation(dimension, `There are more than ${maxValues} values.`)]
}
