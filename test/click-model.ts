/** A naive model of clicks: a list of counts for each link and day. */
import assert from 'node:assert/strict'
import type { ClickHour } from '../src/accounts/calendar.ts'
import type { Click } from '../src/analytics/click-store.ts'
import { dimensions, dimensionsOfLinks } from '../src/analytics/day.ts'
import type { Db } from '../src/storage/port.ts'
import { clickLevels, query } from '../src/storage/schema.ts'
import { type KeptDay, keptDays, keptTotals, sumsOf } from './clicks.ts'

const classes = { person: 'people', bot: 'bots', preview: 'previews' } as const
const counts = ['people', 'unique', 'bots', 'previews'] as const
type Counts = Record<(typeof counts)[number], number>

/** The clicks of a link on a day. */
class ModelDay {
  readonly counts: Counts = { people: 0, unique: 0, bots: 0, previews: 0 }
  readonly rules = new Map<string | null, number>()
}

export class ModelLink {
  readonly id: number
  readonly account: number
  readonly days = new Map<number, ModelDay>()
  /** At least the sums of the days. */
  readonly totals = { people: 0, bots: 0, previews: 0 }
  /** Visitors by the start of the day, because a visitor's number changes with the salt of that time. */
  readonly #visitors = new Set<string>()
  /** Clicks before this time are not counted. Unix milliseconds. */
  forgottenUntil = 0

  constructor(id: number, account: number) {
    this.id = id
    this.account = account
  }

  /** Returns the same link of another database. */
  copy(id: number): ModelLink {
    const link = new ModelLink(id, this.account)
    for (const [day, own] of this.days) link.days.set(day, own)
    Object.assign(link.totals, this.totals)
    return link
  }

  /** Counts a click in its hour, unless it was made before the link's clicks were deleted. */
  count({ day, dayStartMs }: ClickHour, { atMs, class: kind, count, facts, visitorUnder }: Click): void {
    if (atMs < this.forgottenUntil) return
    const own = this.#at(day)
    own.counts[classes[kind]] += count
    this.totals[classes[kind]] += count
    if (kind !== 'person') return
    const rule = facts?.rules ?? null
    own.rules.set(rule, (own.rules.get(rule) ?? 0) + count)
    if (visitorUnder === null) return
    const visitor = `${dayStartMs} ${visitorUnder(new Uint8Array())}`
    own.counts.unique += Number(!this.#visitors.has(visitor))
    this.#visitors.add(visitor)
  }

  /** Imports human clicks of as many visitors, unless the day has clicks. Returns whether it had none. */
  import(day: number, people: number): boolean {
    if (this.days.has(day)) return false
    const own = this.#at(day)
    Object.assign(own.counts, { people, unique: people })
    own.rules.set(null, people)
    const sum = this.sum()
    for (const name of ['people', 'bots', 'previews'] as const)
      this.totals[name] = Math.max(this.totals[name], sum[name])
    return true
  }

  forget(nowMs: number): void {
    this.days.clear()
    Object.assign(this.totals, { people: 0, bots: 0, previews: 0 })
    this.forgottenUntil = nowMs
  }

  forgetDaysBefore(day: number): void {
    for (const each of this.days.keys()) if (each < day) this.days.delete(each)
  }

  /** Returns the sums of all days, or of one. */
  sum(day?: number): Counts {
    const days = [...this.days].filter(([each]) => day === undefined || each === day).map(([, own]) => own.counts)
    return addUp(days)
  }

  #at(day: number): ModelDay {
    const own = this.days.get(day) ?? new ModelDay()
    this.days.set(day, own)
    return own
  }
}

function addUp(all: readonly Counts[]): Counts {
  const sum = { people: 0, unique: 0, bots: 0, previews: 0 }
  for (const each of all) for (const name of counts) sum[name] += each[name]
  return sum
}

/** Compares all stored days and totals with the model, after moves and deletions have ended. */
export async function assertModel(db: Db, links: readonly ModelLink[]): Promise<void> {
  const days = await keptDays(db)
  const totals = new Map((await keptTotals(db)).map((row) => [row.link_id, row]))
  for (const { id, totals: expected } of links) {
    const { clicks = -1, bots, previews } = totals.get(id) ?? {}
    assert.deepEqual({ people: clicks, bots, previews }, expected, `totals of link ${id}`)
  }
  const groups = [
    ...links.map((link) => ({ level: clickLevels.link, id: link.id, members: [link] })),
    ...groupBy(links, clickLevels.domain, ({ id }) => totals.get(id)?.domain_id),
    ...groupBy(links, clickLevels.space, ({ id }) => totals.get(id)?.space_id),
    ...groupBy(links, clickLevels.account, ({ account }) => account),
  ]
  for (const { level, id, members } of groups) {
    const own = days.filter((each) => each.level === level && each.id === id)
    assertDays(own, level, members, `level ${level}, id ${id}`)
  }
  const isGroup = (day: KeptDay) => groups.some(({ level, id }) => level === day.level && id === day.id)
  const hasClicks = ({ facts }: KeptDay) => facts.hours.size > 0
  assert.deepEqual(
    days.filter((day) => !isGroup(day) && hasClicks(day)),
    [],
    'days of no link',
  )
}

function groupBy(links: readonly ModelLink[], level: number, find: (link: ModelLink) => number | null | undefined) {
  const found = Map.groupBy(links, find)
  return [...found].flatMap(([id, members]) => (id === null || id === undefined ? [] : [{ level, id, members }]))
}

/** Checks the days of a record, each of which has the clicks of the links. Each dimension adds up. */
function assertDays(days: readonly KeptDay[], level: number, links: readonly ModelLink[], where: string): void {
  const expected = [...new Set(links.flatMap((link) => [...link.days.keys()]))].sort((a, b) => a - b)
  const found = days.filter(({ facts }) => facts.hours.size > 0)
  assert.deepEqual(
    found.map(({ day }) => day),
    expected,
    where,
  )
  for (const { day, facts } of found) {
    const { addUp: complete, ...sums } = sumsOf(facts)
    assert.deepEqual(sums, addUp(links.map((link) => link.sum(day))), `${where}, day ${day}`)
    const isLink = level === clickLevels.link
    assert.deepEqual(complete, isLink && sums.people > 0 ? dimensionsOfLinks : dimensions, `${where}, day ${day}`)
    const shares = links.map((link) => [link.id, link.sum(day).people] as const).filter(([, people]) => people > 0)
    if (!isLink) assert.deepEqual(facts.breakdowns.links, new Map(shares), `${where}, day ${day}`)
    const rules = isLink ? links[0]?.days.get(day)?.rules : new Map(sums.people > 0 ? [[null, sums.people]] : [])
    // A day has a bounded number of rules.
    if ((rules?.size ?? 0) < 150) assert.deepEqual(facts.breakdowns.rules, rules, `${where}, day ${day}`)
  }
}

/** Returns the ids of all links that exist. */
export async function readLinks(db: Db): Promise<Set<number>> {
  return new Set((await db.execute(query.selectFrom('links').select('id'))).map(({ id }) => id))
}
