/**
 * The clicks that a link had on a day, as a line of an export has them. Pure.
 */
import type { Violation } from '../errors.ts'
import { isHost } from './capture/referrer.ts'
import {
  type Breakdown,
  type DayFacts,
  emptyDay,
  type HourCounts,
  maxValues,
  other,
  peopleOf,
  sortedValues,
} from './day.ts'

/** The dimensions of a link's own days. */
export const lineDimensions = [
  ...(['countries', 'referrers', 'browsers', 'operating_systems', 'devices', 'languages'] as const),
]
type LineDimension = (typeof lineDimensions)[number]

const classes = { clicks: 'people', unique_clicks: 'unique', bots: 'bots', previews: 'previews' } as const
const hourMembers = ['hour', ...(Object.keys(classes) as (keyof typeof classes)[])]

/** The facts of a day as members of its line. Values that the day had no room for are in `other`. */
export function dayMembers({ hours, breakdowns }: DayFacts): Readonly<Record<string, unknown>> {
  const named = lineDimensions.map((dimension) => [
    dimension,
    sortedValues(breakdowns[dimension]).filter(([value]) => value !== other),
  ])
  const others = lineDimensions.flatMap((dimension) => {
    const clicks = breakdowns[dimension].get(other)
    return clicks === undefined ? [] : [[dimension, clicks]]
  })
  return {
    hours: [...hours].sort(([a], [b]) => a - b).map(([hour, counts]) => ({ hour, ...shownCounts(counts) })),
    ...Object.fromEntries(named),
    ...(others.length > 0 && { other: Object.fromEntries(others) }),
  }
}

/** The counts of an hour or a day, as they are called where people read them. */
export function shownCounts({ people, unique, bots, previews }: HourCounts) {
  return { clicks: people, unique_clicks: unique, bots, previews }
}

/** What a value of each dimension looks like. */
const isValue: Readonly<Record<LineDimension, (value: string) => boolean>> = {
  countries: (value) => /^[A-Z]{2}$/.test(value),
  referrers: (value) => value.length <= 253 && isHost(value),
  browsers: (value) => /^[\x20-\x7e]{1,64}$/.test(value),
  operating_systems: (value) => /^[\x20-\x7e]{1,64}$/.test(value),
  devices: (value) => /^(desktop|mobile|tablet|tv)$/.test(value),
  languages: (value) => /^[a-z]{2,3}$/.test(value),
}

/** As many as no link has in an hour. */
const maxClicks = 1_000_000_000

/** Reads the facts that members of a line tell. A dimension that is left out has no known values. */
export function readDay(members: Readonly<Record<string, unknown>>): { values: DayFacts; violations: Violation[] } {
  const values = emptyDay()
  const { hours, other: others = {}, ...named } = members
  const violations = [...readHours(hours, values), ...unknownMembers(named), ...readOthers(others, values)]
  for (const dimension of lineDimensions) violations.push(...readValues(dimension, named[dimension] ?? [], values))
  if (violations.length > 0) return { values, violations }
  const people = peopleOf(values)
  for (const dimension of lineDimensions) {
    const breakdown = values.breakdowns[dimension]
    if (breakdown.size === 0 && people > 0) breakdown.set(null, people)
    const sum = sumOf(breakdown)
    if (sum !== people) {
      violations.push(fault(dimension, `The numbers add up to ${sum}, but the clicks of all hours to ${people}.`))
    }
  }
  return { values, violations }
}

function fault(field: string, message: string): Violation {
  return { field, code: 'not_allowed', message }
}

function sumOf(breakdown: Breakdown): number {
  return [...breakdown.values()].reduce((sum, people) => sum + people, 0)
}

function readHours(hours: unknown, { hours: to }: DayFacts): Violation[] {
  if (!Array.isArray(hours)) return [fault('hours', 'A day needs the list of its hours.')]
  for (const each of hours) {
    const read = hourIn(each)
    if (read === undefined) {
      return [
        fault(
          'hours',
          `An hour has ${hourMembers.join(', ')}, and nothing else: the hour from 0 to 23, the others from 0 to ${maxClicks}, and no more unique_clicks than clicks.`,
        ),
      ]
    }
    if (to.has(read.hour)) return [fault('hours', `The hour ${read.hour} is there twice.`)]
    if (read.counts.people + read.counts.bots + read.counts.previews > 0) to.set(read.hour, read.counts)
  }
  return to.size > 0 ? [] : [fault('hours', 'The day has no clicks. Leave the line out.')]
}

function hourIn(value: unknown): { readonly hour: number; readonly counts: HourCounts } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const members = value as Readonly<Record<string, unknown>>
  const { hour, clicks, unique_clicks, bots, previews } = members
  const isWhole = Object.keys(members).length === hourMembers.length
  const counts = [clicks, unique_clicks, bots, previews]
  if (!(isWhole && isCount(hour, 0, 23) && counts.every((count) => isCount(count, 0)))) return undefined
  const [people = 0, unique = 0, ...programs] = counts as number[]
  if (unique > people) return undefined
  return { hour, counts: { people, unique, bots: programs[0] as number, previews: programs[1] as number } }
}

function isCount(value: unknown, min: number, max = maxClicks): value is number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
}

function unknownMembers(named: Readonly<Record<string, unknown>>): Violation[] {
  const unknown = Object.keys(named).filter((name) => !(lineDimensions as readonly string[]).includes(name))
  return unknown.map((name) => {
    const field = name.slice(0, 64).toWellFormed()
    return { field, code: 'unknown_field', message: `The ${field} field is unknown.` }
  })
}

function readOthers(others: unknown, { breakdowns }: DayFacts): Violation[] {
  const entries = typeof others === 'object' && others !== null ? Object.entries(others) : [['', others]]
  for (const [name, clicks] of entries) {
    const dimension = lineDimensions.find((each) => each === name)
    if (dimension === undefined || !isCount(clicks, 1)) {
      return [
        fault('other', `The value is an object of numbers from 1 to ${maxClicks}, by ${lineDimensions.join(', ')}.`),
      ]
    }
    breakdowns[dimension].set(other, clicks)
  }
  return []
}

function readValues(dimension: LineDimension, pairs: unknown, { breakdowns }: DayFacts): Violation[] {
  const to = breakdowns[dimension]
  if (!Array.isArray(pairs))
    return [fault(dimension, 'The value is a list of pairs: a value, or null, and its clicks.')]
  for (const pair of pairs) {
    const [value, clicks, ...more] = Array.isArray(pair) ? pair : []
    const isKnown = value === null || (typeof value === 'string' && isValue[dimension](value))
    if (!(isKnown && isCount(clicks, 1) && more.length === 0)) {
      const told = JSON.stringify(pair).slice(0, 64).toWellFormed()
      return [fault(dimension, `${told} is not a value of it, or null, and its clicks, from 1 to ${maxClicks}.`)]
    }
    if (to.has(value)) return [fault(dimension, `${value === null ? 'null' : value} is there twice.`)]
    to.set(value, clicks)
  }
  const named = [...to.keys()].filter((value) => typeof value === 'string')
  return named.length <= maxValues ? [] : [fault(dimension, `There are more than ${maxValues} values.`)]
}
