import { type ClickHour, calendarOf, today } from '../accounts/calendar.ts'
import { type BatchWriter, type Db, parts } from '../storage/port.ts'
import { CachedQuery, clickLevels, query, type Row, valueById } from '../storage/schema.ts'
import {
  addDay,
  addPeople,
  type DayFacts,
  dimensionsOfLinks,
  emptyDay,
  ensureHour,
  type FactDimension,
  valueForGroups,
} from './day.ts'
import { type DeletedTotals, findReturning, lockDeletedTotals, saveDeletedTotals } from './deleted-links.ts'
import { ensureSalts } from './salts.ts'
import {
  type Day,
  type DayKey,
  Days,
  DecodedDays,
  formatKey,
  groupKeys,
  type LinkTotals,
  lockAccounts,
  lockTotalsOfAnyAccount,
  makeStatusDue,
  saveTotals,
} from './tables.ts'

/** Clicks of one link at one time, of the same visitor. More than one only if the visitor is unknown. */
export interface Click {
  readonly link: number
  /** The visited address. Days of earlier versions lack it for the main one. */
  readonly addressId?: number | null
  /** Unix milliseconds. For private visits the start of the hour, and `seenMs` is the visit's time. */
  readonly atMs: number
  readonly seenMs?: number
  readonly count: number
  readonly class: 'person' | 'bot' | 'preview'
  /** Null for private visits and for programs. */
  readonly facts: Readonly<Record<FactDimension, string | null>> | null
  /** Returns the visitor's hash under the salt of the day. Null for private visits and for programs. */
  readonly visitorUnder: ((salt: Uint8Array) => number) | null
}

export interface CountedClick {
  readonly click: Click
  /** The link's totals, and the records that it belongs to. */
  readonly link: LinkTotals
  /** The hour of the account's time zone that counts it. */
  readonly at: ClickHour
  /** Whether it was the visitor's first click on the link that day. */
  isFirst: boolean
}

/** Gets clicks just before they are committed, and again if the commit fails. */
type OnCounted = (clicks: readonly CountedClick[]) => void

/** The days that a transaction decodes together. A full day takes 100 KB. `DecodedDays` has 8 MB more. */
const daysInMemory = 64
const counters = { person: 'people', bot: 'bots', preview: 'previews' } as const

/**
 * Stores the clicks of one process: totals, visitors and days in one transaction, so that they always agree. Throws
 * `database_unavailable`.
 */
export class ClickStore {
  readonly #database: BatchWriter
  readonly #process: string
  readonly #decoded = new DecodedDays()

  /** `process` identifies this process among all that ever wrote to the database. */
  constructor(database: BatchWriter, process: string) {
    this.#database = database
    this.#process = process
  }

  /**
   * Stores a batch, except for clicks whose link is gone forever, or whose link's clicks were deleted after the visit. The
   * clicks of a deleted link return with it. Batches have ascending numbers. Returns the counted clicks, or null if the
   * batch was stored before, so that the same batch may be sent again after an error.
   */
  async write(
    batch: number,
    clicks: readonly Click[],
    onCounted: OnCounted = () => undefined,
  ): Promise<CountedClick[] | null> {
    const ids = [...new Set(clicks.map(({ link }) => link))]
    const returning = new Set<number>()
    for (;;) {
      const counted = await this.#database.write(async (tx) => {
        // Before the links, because a transaction that has locked links must not wait for events.
        const deleted = await lockDeletedTotals(tx, returning)
        const links = new Map<number, LinkTotals>([...deleted, ...(await lockTotalsOfAnyAccount(tx, ids))])
        const unknown = ids.filter((id) => !links.has(id))
        const missing = await findReturning(tx, unknown)
        for (const id of missing) returning.add(id)
        if (missing.length > 0) return 'again'
        if (!(await noteBatch(tx, this.#process, batch))) return null
        return this.#count(tx, clicks, links, onCounted, (click, link) => !isForgotten(click, link))
      })
      if (counted !== 'again') return counted
    }
  }

  /**
   * Stores a human click. Returns false if its link has reached its click limit, which is exact across processes.
   */
  take(click: Click, onCounted: OnCounted = () => undefined): Promise<boolean> {
    return this.#database.write(async (tx) => {
      const isLeft = (_: Click, { clicks, clicks_limit }: LinkTotals) => clicks_limit !== null && clicks < clicks_limit
      const links = await lockTotalsOfAnyAccount(tx, [click.link])
      return (await this.#count(tx, [click], links, onCounted, isLeft)).length > 0
    })
  }

  async #count(
    tx: Db,
    clicks: readonly Click[],
    links: ReadonlyMap<number, LinkTotals>,
    onCounted: OnCounted,
    mayCount: (click: Click, link: LinkTotals) => boolean,
  ): Promise<CountedClick[]> {
    const counted: CountedClick[] = []
    for (const click of clicks) {
      const link = links.get(click.link)
      if (link !== undefined && mayCount(click, link)) {
        // The start of an hour in UTC can be in another hour elsewhere, so this needs the time of a private visit.
        const at = calendarOf(link.time_zones).hourAt(click.seenMs ?? click.atMs)
        counted.push({ click, link, at, isFirst: false })
      }
    }
    if (counted.length === 0) return []
    await markFirstVisits(tx, counted)
    await addToDays(tx, counted, this.#decoded)
    await addToTotals(tx, counted)
    await addToAddresses(tx, counted)
    onCounted(counted)
    return counted
  }
}

/** Returns whether the link's clicks were deleted after the visit, which was still in the memory of a process. */
function isForgotten({ atMs, seenMs = atMs }: Click, { forgotten_ms }: LinkTotals): boolean {
  return forgotten_ms !== null && seenMs <= forgotten_ms
}

/** Returns whether this is the first time that the process stores the batch. */
async function noteBatch(tx: Db, writer: string, batch: number): Promise<boolean> {
  const day = today()
  const noted = await tx.execute(
    query
      .insertInto('click_batches')
      .values({ writer, batch, day })
      .onConflict((conflict) =>
        conflict.column('writer').doUpdateSet({ batch, day }).whereRef('excluded.batch', '>', 'click_batches.batch'),
      )
      .returning('batch'),
  )
  return noted.length > 0
}

/** Stores the visitors of human clicks, and marks the clicks that are the first of their visitor that day. */
async function markFirstVisits(tx: Db, clicks: readonly CountedClick[]): Promise<void> {
  const days = Map.groupBy(clicks, ({ at }) => at.dayStartMs)
  for (const [dayStartMs, salt] of await ensureSalts(tx, [...days.keys()])) {
    const visitors = findFirstClicks(days.get(dayStartMs) as CountedClick[], salt)
    const rows = [...visitors.keys()].sort(ascending).flatMap((link_id) => {
      const ofLink = [...(visitors.get(link_id) as Map<number, CountedClick>).keys()]
      return ofLink.sort(ascending).map((visitor) => ({ day_start_ms: dayStartMs, link_id, visitor }))
    })
    for (const some of parts(rows)) {
      for (const { link_id, visitor } of await tx.execute(visitorsAdded(some))) {
        ;(visitors.get(link_id)?.get(visitor) as CountedClick).isFirst = true
      }
    }
  }
}

/** Returns the first click of each visitor, by link and visitor. */
function findFirstClicks(clicks: readonly CountedClick[], salt: Uint8Array): Map<number, Map<number, CountedClick>> {
  const links = new Map<number, Map<number, CountedClick>>()
  for (const each of clicks) {
    const { link, visitorUnder } = each.click
    if (visitorUnder === null) continue
    const visitors = links.get(link) ?? new Map<number, CountedClick>()
    if (visitors.size === 0) links.set(link, visitors)
    const visitor = visitorUnder(salt)
    if (!visitors.has(visitor)) visitors.set(visitor, each)
  }
  return links
}

/** Stores visitors. Returns the new visitors. */
function visitorsAdded(
  rows: readonly Row<'click_visitors'>[],
): CachedQuery<Omit<Row<'click_visitors'>, 'day_start_ms'>> {
  const parameters = rows.flatMap(({ day_start_ms, link_id, visitor }) => [day_start_ms, link_id, visitor])
  return new CachedQuery(`${rows.length} visitors`, parameters, () =>
    query
      .insertInto('click_visitors')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning(['link_id', 'visitor']),
  )
}

function ascending(a: number, b: number): number {
  return a - b
}

/** Adds clicks to all days that include them: link, domain, space and account. */
async function addToDays(tx: Db, clicks: readonly CountedClick[], decoded: DecodedDays): Promise<void> {
  const links = groupByLinkDay(clicks)
  const totals = new Map(links.map(({ link }) => [link.link_id, link]))
  const accounts = links.map(({ link }) => link.account_id)
  const cursors = await lockAccounts(tx, accounts)
  const groups = new Map<string, GroupDay>()
  const open = () => new Days(tx, decoded)
  const save = (days: Days) => days.save(cursors, totals)
  const ensureGroup = (key: DayKey) => groups.getOrInsertComputed(formatKey(key), () => ({ key, facts: emptyDay() }))
  await changeDays(open, save, links, (day, { link, clicks: own }) => {
    if (day.facts.hours.size === 0) Object.assign(day, { domain: link.domain_id, space: link.space_id })
    const added = groupKeys(link, day).map(ensureGroup)
    for (const each of own) {
      addClick(day.facts, each)
      for (const { facts } of added) addClick(facts, each, link.link_id)
    }
  })
  await changeDays(open, save, [...groups.values()], (day, { facts }) => addDay(day.facts, facts))
}

/** A day of a link, and its clicks in a batch. */
interface LinkDay {
  readonly key: DayKey
  readonly link: LinkTotals
  readonly clicks: readonly CountedClick[]
}

/** A day of a domain, a space or an account, and the sum of its clicks in a batch. */
interface GroupDay {
  readonly key: DayKey
  readonly facts: DayFacts
}

function groupByLinkDay(clicks: readonly CountedClick[]): LinkDay[] {
  const days = [...Map.groupBy(clicks, ({ at }) => at.day)]
  return days.flatMap(([day, ofDay]) =>
    Array.from(
      Map.groupBy(ofDay, ({ link }) => link),
      ([link, own]) => {
        return { key: { account: link.account_id, level: clickLevels.link, day, id: link.link_id }, link, clicks: own }
      },
    ),
  )
}

/** Reads, changes and stores days in the order of the table, a bounded number at a time. */
async function changeDays<Added extends { readonly key: DayKey }>(
  open: () => Days,
  save: (days: Days) => Promise<void>,
  changed: readonly Added[],
  change: (day: Day, added: Added) => void,
): Promise<void> {
  const sorted = changed.toSorted(({ key: a }, { key: b }) => a.level - b.level || a.day - b.day || a.id - b.id)
  for (const some of parts(sorted, daysInMemory)) {
    const days = open()
    const read = await days.read(some.map(({ key }) => key))
    for (const [at, added] of some.entries()) change(read[at] as Day, added)
    await save(days)
  }
}

/** Adds a click to a day of its link, or of a group if `link` is given. */
function addClick(facts: DayFacts, { click, at, isFirst }: CountedClick, link?: number): void {
  const { breakdowns } = facts
  const counts = ensureHour(facts, at.hour)
  counts[counters[click.class]] += click.count
  if (click.class !== 'person') return
  if (isFirst) counts.unique += 1
  const isGroup = link !== undefined
  for (const dimension of dimensionsOfLinks) {
    const value = (dimension === 'addresses' ? click.addressId : click.facts?.[dimension]) ?? null
    addPeople(breakdowns[dimension], isGroup ? valueForGroups(dimension, value) : value, click.count)
  }
  if (isGroup) addPeople(breakdowns.links, link, click.count)
}

/** Addresses that one statement changes. */
const addressesTogether = 64

/** Adds human clicks to the addresses that are still there. */
async function addToAddresses(tx: Db, clicks: readonly CountedClick[]): Promise<void> {
  const people = new Map<number, number>()
  for (const { click } of clicks) {
    const { addressId = null, count } = click
    if (addressId !== null && click.class === 'person') people.set(addressId, (people.get(addressId) ?? 0) + count)
  }
  const sorted = [...people].sort(([a], [b]) => a - b)
  for (const some of parts(sorted, addressesTogether)) {
    const ids = some.map(([id]) => id)
    const more = valueById(ids, new Map(some))
    const build = () =>
      query
        .updateTable('addresses')
        .set(({ eb }) => ({ clicks: eb('clicks', '+', more) }))
        .where('id', 'in', ids)
    await tx.execute(new CachedQuery(`clicks of ${some.length} addresses`, [...some.flat(), ...ids], build))
  }
}

async function addToTotals(tx: Db, clicks: readonly CountedClick[]): Promise<void> {
  for (const { click, link } of clicks) {
    if (click.class === 'person') {
      link.clicks += click.count
      link.last_clicked_ms = Math.max(link.last_clicked_ms ?? 0, click.atMs)
    } else link[counters[click.class]] += click.count
  }
  const changed = [...new Set(clicks.map(({ link }) => link))]
  const isDeleted = (link: LinkTotals): link is DeletedTotals => 'deletion' in link
  const present = changed.filter((link) => !isDeleted(link))
  await saveDeletedTotals(tx, changed.filter(isDeleted))
  await saveTotals(tx, present)
  const isReached = ({ clicks, clicks_limit }: LinkTotals) => clicks_limit !== null && clicks >= clicks_limit
  const reached = changed.filter(isReached).map(({ link_id }) => link_id)
  await makeStatusDue(tx, reached)
}
