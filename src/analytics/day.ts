/** One day of clicks for a link, domain, space or account, and its stored JSON. Pure. */
import { memoized } from '../lib/lru-cache.ts'

/**
 * Dimensions of human clicks, in the order of the stored JSON. Add new ones at the end. Link days have no `links`. Only link
 * days have values of `rules` and `addresses`; null stands for the link's URL and its main address, and is not stored.
 */
export const dimensions = [
  'countries',
  'referrers',
  'browsers',
  'operating_systems',
  'devices',
  'languages',
  'links',
  'rules',
  'addresses',
] as const
export type Dimension = (typeof dimensions)[number]

export const dimensionsOfLinks = dimensions.filter((each) => each !== 'links')
export type LinkDimension = (typeof dimensionsOfLinks)[number]

/** The dimensions of link days that leave out null. */
export const sparseDimensions: readonly Dimension[] = ['rules', 'addresses']

/** The dimensions that depend on the visitor or on the link's rules. */
export const factDimensions = dimensionsOfLinks.filter((each) => each !== 'addresses')
export type FactDimension = (typeof factDimensions)[number]

/** Stands for the values beyond `maxValues`. */
export const other = Symbol('other')
/** A value of a dimension: null if unknown, a number for a link's id. */
export type Value = string | number | null | typeof other

/** Clicks by class. `unique` counts the human clicks that were the first of their visitor that day. */
export interface HourCounts {
  people: number
  unique: number
  bots: number
  previews: number
}

/** Counts with their names in the database, in the API and in exports. */
export type Counts = ReturnType<typeof shownCounts>

export function shownCounts({ people, unique, bots, previews }: HourCounts) {
  return { clicks: people, unique_clicks: unique, bots, previews }
}

/** Returns the counts behind stored or shown names. */
export function countsFrom({ clicks, unique_clicks, bots, previews }: Counts): HourCounts {
  return { people: clicks, unique: unique_clicks, bots, previews }
}

/** Human clicks by value. In each dimension that has any, they add up to the human clicks of all hours. */
export type Breakdown = Map<Value, number>

export interface DayFacts {
  /** By the hour of the day. */
  readonly hours: Map<number, HourCounts>
  readonly breakdowns: Readonly<Record<Dimension, Breakdown>>
}

/** The number of values of a dimension that a day stores, in addition to null and `other`. */
export const maxValues = 200

/** Returns a day without clicks. */
export function emptyDay(): DayFacts {
  const breakdowns = {} as Record<Dimension, Breakdown>
  for (const dimension of dimensions) breakdowns[dimension] = new Map()
  return { hours: new Map(), breakdowns }
}

/** Returns counts of zero. */
export function noCounts(): HourCounts {
  return { people: 0, unique: 0, bots: 0, previews: 0 }
}

/** Returns the counts of an hour. Adds them if there are none. */
export function ensureHour({ hours }: Pick<DayFacts, 'hours'>, hour: number): HourCounts {
  const known = hours.get(hour)
  if (known !== undefined) return known
  const counts = noCounts()
  hours.set(hour, counts)
  return counts
}

/** Returns the sums of all hours. */
export function sumHours({ hours }: Pick<DayFacts, 'hours'>): HourCounts {
  const totals = noCounts()
  for (const counts of hours.values()) addCounts(totals, counts)
  return totals
}

/** Returns the human clicks of all hours. */
export function countPeople({ hours }: Pick<DayFacts, 'hours'>): number {
  let sum = 0
  for (const { people } of hours.values()) sum += people
  return sum
}

/** Returns the human clicks of all values. */
export function sumBreakdown(breakdown: Breakdown): number {
  return breakdown.values().reduce((sum, people) => sum + people, 0)
}

/** Returns the dimensions of a link's day that exports have: `rules` only if a rule decided a click. Ids mean nothing elsewhere. */
export function exportedDimensions({ breakdowns: { rules } }: DayFacts): readonly FactDimension[] {
  const isRuled = rules.size > (rules.has(null) ? 1 : 0)
  return isRuled ? factDimensions : factDimensions.filter((each) => each !== 'rules')
}

/** Returns the value by which the groups of a link count its clicks with `value`. They also count the link itself. */
export function valueForGroups(dimension: Dimension, value: Value): Value {
  return dimension === 'rules' || dimension === 'addresses' ? null : value
}

/** Returns a link's day as its groups count it. */
export function shareForGroups({ hours, breakdowns }: DayFacts, link: number): DayFacts {
  const people = countPeople({ hours })
  const all = (value: Value): Breakdown => new Map(people > 0 ? [[value, people]] : [])
  const shared = { ...breakdowns, links: all(link) }
  for (const dimension of sparseDimensions) shared[dimension] = all(valueForGroups(dimension, null))
  return { hours, breakdowns: shared }
}

/** Turns the rarest values of dimensions with too many into `other`. */
export function limitValues({ breakdowns }: DayFacts): void {
  for (const dimension of dimensions) if (breakdowns[dimension].size > maxValues) mergeRarest(breakdowns[dimension])
}

/** Adds another day. Does not limit the values: see `limitValues`. */
export function addDay(facts: DayFacts, more: DayFacts): void {
  for (const [hour, counts] of more.hours) addCounts(ensureHour(facts, hour), counts)
  for (const dimension of dimensions) {
    const to = facts.breakdowns[dimension]
    for (const [value, people] of more.breakdowns[dimension]) addPeople(to, value, people)
  }
}

export function addPeople(to: Breakdown, value: Value, people: number): void {
  to.set(value, (to.get(value) ?? 0) + people)
}

/**
 * Subtracts a day that was added before. Values that have become `other` since then are subtracted from `other`. Does
 * nothing if the day lacks these clicks, because it was deleted and started again.
 */
export function subtractDay(facts: DayFacts, less: DayFacts): void {
  if (!includes(facts, less)) return
  for (const [hour, counts] of less.hours) {
    const left = ensureHour(facts, hour)
    addCounts(left, counts, -1)
    if (left.people === 0 && left.bots === 0 && left.previews === 0) facts.hours.delete(hour)
  }
  for (const dimension of dimensions) {
    const from = facts.breakdowns[dimension]
    let owed = 0
    for (const [value, people] of less.breakdowns[dimension]) owed += people - take(from, value, people)
    if (owed === 0) continue
    for (const value of [other as Value, ...byRarity(from)]) owed -= take(from, value, owed)
  }
}

function includes({ hours }: DayFacts, less: DayFacts): boolean {
  return [...less.hours].every(([hour, { people, unique, bots, previews }]) => {
    const held = hours.get(hour)
    return held && held.people >= people && held.unique >= unique && held.bots >= bots && held.previews >= previews
  })
}

/** Subtracts up to `people` clicks from a value. Returns how many. */
function take(from: Breakdown, value: Value, people: number): number {
  const had = from.get(value) ?? 0
  if (had > people) from.set(value, had - people)
  else from.delete(value)
  return Math.min(had, people)
}

export function addCounts(to: HourCounts, { people, unique, bots, previews }: HourCounts, sign: 1 | -1 = 1): void {
  to.people += sign * people
  to.unique += sign * unique
  to.bots += sign * bots
  to.previews += sign * previews
}

/**
 * Turns excess values into `other`. Chance, weighted by clicks, decides between the two rarest values. So a frequent new
 * value is stored sooner or later, and a frequent old one rarely leaves.
 */
function mergeRarest(breakdown: Breakdown): void {
  const rarest = byRarity(breakdown)
  let [kept] = rarest
  for (const rival of rarest.slice(1, 1 + Math.max(0, rarest.length - maxValues))) {
    const [some, more] = [breakdown.get(kept as Value) as number, breakdown.get(rival) as number]
    const gone: Value = Math.random() * (some + more) < more ? (kept as Value) : rival
    if (gone === kept) kept = rival
    breakdown.delete(gone)
    addPeople(breakdown, other, gone === rival ? more : some)
  }
}

/** Returns the values other than null and `other`, the rarest first. Chance orders values with the same clicks. */
function byRarity(breakdown: Breakdown): Value[] {
  const named = [...breakdown].filter(([value]) => value !== null && value !== other)
  const ranked = named.map(([value, people]): { value: Value; rarity: number } => ({
    value,
    rarity: people + Math.random(),
  }))
  return ranked.sort((a, b) => a.rarity - b.rarity).map(({ value }) => value)
}

/** A stored day: its totals, and two JSON texts. */
export interface DayRow extends DayJson, Counts {}

export interface DayJson {
  /** By hour: human clicks, unique ones, bots and previews, without the last two if they are 0. */
  readonly hours: string
  /** Human clicks by value, for each of the `dimensions`. Their names would double the size. */
  readonly breakdowns: string
}

/** The keys of null and `other`. Values are not empty. Keys of values that start like the second have it twice. */
const [unknownKey, otherKey] = ['', '…']

/** Returns the day's columns. */
export function encodeDay({ hours, breakdowns }: DayFacts): DayRow {
  const counts = Array.from(hours, ([hour, each]) => `"${hour}":[${encodeCounts(each)}]`)
  const lists = dimensions.map((each) => encodeBreakdown(breakdowns[each], sparseDimensions.includes(each)))
  while (lists.at(-1) === '{}') lists.pop()
  return {
    ...shownCounts(sumHours({ hours })),
    hours: `{${counts.join()}}`,
    breakdowns: `[${lists.join()}]`,
  }
}

function encodeCounts({ people, unique, bots, previews }: HourCounts): string {
  if (previews > 0) return `${people},${unique},${bots},${previews}`
  return bots > 0 ? `${people},${unique},${bots}` : `${people},${unique}`
}

function encodeBreakdown(breakdown: Breakdown, isSparse: boolean): string {
  let members = ''
  const add = (people: number, value: Value) => {
    if (value !== null || !isSparse) members += `${members === '' ? '' : ','}${encodeKey(value)}:${people}`
  }
  // Most have one value, and entries of a map cost more than the rest.
  if (breakdown.size < 2) breakdown.forEach(add)
  else for (const [value, people] of sortedValues(breakdown)) add(people, value)
  return `{${members}}`
}

function encodeKey(value: Value): string {
  return typeof value === 'number' ? `"${value}"` : quote(encodeValue(value))
}

const quote = memoized((text) => JSON.stringify(text))

/** Returns the key of a value in the JSON of its dimension. */
export function encodeValue(value: Value): string {
  if (value === null) return unknownKey
  if (value === other) return otherKey
  const key = String(value)
  return key.startsWith(otherKey) ? otherKey + key : key
}

/** Returns the values with their human clicks, the most frequent first. Their original order could reveal single visits. */
export function sortedValues(breakdown: Breakdown): [Value, number][] {
  const values = [...breakdown]
  if (values.length < 2) return values
  return values.sort(([a, some], [b, more]) => more - some || (String(a) < String(b) ? -1 : 1))
}

/** Returns the day of its JSON. */
export function decodeDay({ hours, breakdowns }: DayJson): DayFacts {
  const facts = emptyDay()
  for (const [hour, counts] of decodeHours(JSON.parse(hours))) facts.hours.set(hour, counts)
  const parsed: readonly JsonBreakdown[] = JSON.parse(breakdowns)
  for (const [at, dimension] of dimensions.entries()) {
    decodeBreakdown(dimension, parsed[at] ?? {}, (value, people) => facts.breakdowns[dimension].set(value, people))
  }
  const people = countPeople(facts)
  for (const dimension of sparseDimensions) {
    const rest = people - sumBreakdown(facts.breakdowns[dimension])
    if (rest > 0) facts.breakdowns[dimension].set(null, rest)
  }
  return facts
}

export type JsonBreakdown = Readonly<Record<string, number>>

/** Returns the counts of the hours of a day, from the value of their JSON. */
export function* decodeHours(hours: Readonly<Record<string, number[]>>): Generator<[hour: number, HourCounts]> {
  for (const [hour, counts] of Object.entries(hours)) {
    const [people = 0, unique = 0, bots = 0, previews = 0] = counts
    yield [Number(hour), { people, unique, bots, previews }]
  }
}

/** Passes the values of one dimension and their human clicks to `use`. Pairs of them would double the time. */
export function decodeBreakdown(
  dimension: Dimension,
  breakdown: JsonBreakdown,
  use: (value: Value, people: number) => void,
): void {
  for (const key of Object.keys(breakdown)) use(decodeValue(dimension, key), breakdown[key] as number)
}

/** Returns the value of a key in the JSON of a dimension. */
export function decodeValue(dimension: Dimension, key: string): Value {
  if (key === unknownKey) return null
  if (key === otherKey) return other
  if (dimension === 'links' || dimension === 'addresses') return Number(key)
  return key.startsWith(otherKey) ? key.slice(otherKey.length) : key
}
