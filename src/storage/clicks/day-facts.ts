/**
 * What is kept of one day's clicks of a link, a domain, a space or an account: the clicks of each hour, and the values of
 * each dimension with their numbers of people. Plain data, and its form in the database. Pure.
 */

/** What people are broken down by. Their places in the database's form: new ones come last. */
export const dimensions = [
  'countries',
  'referrers',
  'browsers',
  'operating_systems',
  'devices',
  'languages',
  'links',
] as const
export type Dimension = (typeof dimensions)[number]

/** Stands for the values that a day has no room for. */
export const other = Symbol('other')
/** A value of a dimension: null where it is unknown, a number for the id of a link. */
export type Value = string | number | null | typeof other

/** Clicks by class, and those of people who came for the first time that day. */
export interface HourCounts {
  people: number
  unique: number
  bots: number
  previews: number
}

/** People by value. In each dimension that has any, they add up to the people of all hours. */
export type Breakdown = Map<Value, number>

export interface DayFacts {
  /** By the hour of the day in UTC. */
  readonly hours: Map<number, HourCounts>
  readonly breakdowns: Readonly<Record<Dimension, Breakdown>>
}

/** Values that a day keeps of a dimension, beside null and `other`. */
export const maxValues = 200

/** A day without people; `hours` are those of programs, if there are any. */
export function emptyDay(hours: DayFacts['hours'] = new Map()): DayFacts {
  return {
    hours,
    breakdowns: {
      countries: new Map(),
      referrers: new Map(),
      browsers: new Map(),
      operating_systems: new Map(),
      devices: new Map(),
      languages: new Map(),
      links: new Map(),
    },
  }
}

/** The counts of an hour, which are added if there are none. */
export function hourOf({ hours }: Pick<DayFacts, 'hours'>, hour: number): HourCounts {
  const known = hours.get(hour)
  if (known !== undefined) return known
  const counts = { people: 0, unique: 0, bots: 0, previews: 0 }
  hours.set(hour, counts)
  return counts
}

/** Whether two days have the same numbers, in whatever order. */
export function isSameDay(a: DayFacts, b: DayFacts): boolean {
  const isSameHour = (one: HourCounts, two: HourCounts | undefined) =>
    one.people === two?.people && one.unique === two.unique && one.bots === two.bots && one.previews === two.previews
  return (
    a.hours.size === b.hours.size &&
    [...a.hours].every(([hour, counts]) => isSameHour(counts, b.hours.get(hour))) &&
    dimensions.every((dimension) => isSameBreakdown(a.breakdowns[dimension], b.breakdowns[dimension]))
  )
}

function isSameBreakdown(a: Breakdown, b: Breakdown): boolean {
  return a.size === b.size && [...a].every(([value, people]) => b.get(value) === people)
}

/** The people of all hours. */
export function peopleOf({ hours }: Pick<DayFacts, 'hours'>): number {
  let people = 0
  for (const counts of hours.values()) people += counts.people
  return people
}

/** Adds what `more` has. A dimension without room makes some: its rarest values become `other`. */
export function addDay(facts: DayFacts, more: DayFacts): void {
  gatherDay(facts, more)
  makeRoomIn(facts)
}

/** Bounds the values of each dimension: where there are too many, the rarest become `other`. */
export function makeRoomIn({ breakdowns }: DayFacts): void {
  for (const dimension of dimensions) if (breakdowns[dimension].size > maxValues) makeRoom(breakdowns[dimension])
}

/** The same without a bound on the values, for what is gathered before it is added. */
export function gatherDay(facts: DayFacts, more: DayFacts): void {
  for (const [hour, counts] of more.hours) addCounts(hourOf(facts, hour), counts, 1)
  for (const dimension of dimensions) {
    const to = facts.breakdowns[dimension]
    for (const [value, people] of more.breakdowns[dimension]) addPeople(to, value, people)
  }
}

export function addPeople(to: Breakdown, value: Value, people: number): void {
  to.set(value, (to.get(value) ?? 0) + people)
}

/**
 * Takes away what `less` has, which was added before. Where one of its values has become `other` since, `other` gives it,
 * so that each dimension still adds up.
 */
export function subtractDay(facts: DayFacts, less: DayFacts): void {
  for (const [hour, counts] of less.hours) {
    const left = hourOf(facts, hour)
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

/** Takes up to `people` people from a value; returns how many it had. */
function take(from: Breakdown, value: Value, people: number): number {
  const had = from.get(value) ?? 0
  if (had > people) from.set(value, had - people)
  else from.delete(value)
  return Math.min(had, people)
}

function addCounts(to: HourCounts, { people, unique, bots, previews }: HourCounts, sign: 1 | -1): void {
  to.people += sign * people
  to.unique += sign * unique
  to.bots += sign * bots
  to.previews += sign * previews
}

/**
 * Makes `other` of as many values as are too many. Of the two rarest, chance decides by their people: so what comes often gets
 * in sooner or later, however full the day is, and what came often before rarely goes.
 */
function makeRoom(breakdown: Breakdown): void {
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

/**
 * The values other than null and `other`, the rarest first; by chance where they are as rare, so that a value that is new has a
 * chance to stay, and one that comes often does.
 */
function byRarity(breakdown: Breakdown): Value[] {
  const named = [...breakdown.keys()].filter((value) => value !== null && value !== other)
  const chances = new Map<Value, number>(named.map((value) => [value, Math.random()]))
  const rarity = (value: Value) => (breakdown.get(value) as number) + (chances.get(value) as number)
  return named.sort((a, b) => rarity(a) - rarity(b))
}
