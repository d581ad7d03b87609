import { randomBytes } from 'node:crypto'
import { type BatchWriter, type Db, parts } from '../storage/port.ts'
import { query, type Row, scopes } from '../storage/schema.ts'
import { type ClickHour, calendarOf, today } from './calendar.ts'
import { addPeople, type DayFacts, type Dimension, dimensionsOfLinks, hourOf } from './day.ts'
import {
  type Day,
  type DayKey,
  Days,
  groupKeys,
  type LinkTotals,
  lockAccounts,
  lockLinks,
  makeStatusDue,
  saveTotals,
} from './tables.ts'

/** Clicks of one link at one time, of the same visitor. More than one only if the visitor is unknown. */
export interface Click {
  readonly link: number
  /** Unix milliseconds. For private visits the start of the hour, and `seenMs` is the time of the visit. */
  readonly atMs: number
  readonly seenMs?: number
  readonly count: number
  readonly class: 'person' | 'bot' | 'preview'
  /** Null for private visits and for programs. */
  readonly facts: Readonly<Record<Exclude<Dimension, 'links'>, string | null>> | null
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

const saltBytes = 16
/** The number of decoded days in memory. A full day takes 100 KB. */
const daysInMemory = 64
const counters = { person: 'people', bot: 'bots', preview: 'previews' } as const

/**
 * Stores the clicks of one process: totals, visitors and days in one transaction, so that they always agree. Throws
 * `database_unavailable`.
 */
export class ClickStore {
  readonly #database: BatchWriter
  readonly #process: string

  /** `process` identifies this process among all that ever wrote to the database. */
  constructor(database: BatchWriter, process: string) {
    this.#database = database
    this.#process = process
  }

  /**
   * Stores a batch, except for clicks whose link is gone, or whose link's clicks were deleted after the visit. Batches have
   * ascending numbers. Returns the counted clicks, or null if the batch was stored before, so that the same batch may be
   * sent again after an error.
   */
  write(
    batch: number,
    clicks: readonly Click[],
    onCounted: OnCounted = () => undefined,
  ): Promise<CountedClick[] | null> {
    return this.#database.write(async (tx) => {
      if (!(await noteBatch(tx, this.#process, batch))) return null
      return count(tx, clicks, onCounted, (click, link) => !isForgotten(click, link))
    })
  }

  /**
   * Stores a human click unless its link has reached its click limit, which is exact across processes. Returns whether it
   * did.
   */
  take(click: Click, onCounted: OnCounted = () => undefined): Promise<boolean> {
    return this.#database.write(async (tx) => {
      const isLeft = (_: Click, { clicks, limit }: LinkTotals) => limit !== null && clicks < limit
      return (await count(tx, [click], onCounted, isLeft)).length > 0
    })
  }
}

async function count(
  tx: Db,
  clicks: readonly Click[],
  onCounted: OnCounted,
  mayCount: (click: Click, link: LinkTotals) => boolean,
): Promise<CountedClick[]> {
  const ids = clicks.map(({ link }) => link)
  const links = await lockLinks(tx, ids)
  const counted: CountedClick[] = []
  for (const click of clicks) {
    const link = links.get(click.link)
    if (link !== undefined && mayCount(click, link)) {
      // The start of an hour in UTC can be in another hour elsewhere, so this needs the time of a private visit.
      const at = calendarOf(link.timeZones).hourOf(click.seenMs ?? click.atMs)
      counted.push({ click, link, at, isFirst: false })
    }
  }
  if (counted.length === 0) return []
  await markFirstVisits(tx, counted)
  await addToDays(tx, counted)
  await addToTotals(tx, counted)
  onCounted(counted)
  return counted
}

/** Returns whether the link's clicks were deleted after the visit, which was still in the memory of a process. */
function isForgotten({ atMs, seenMs = atMs }: Click, { forgottenMs }: LinkTotals): boolean {
  return forgottenMs !== null && seenMs <= forgottenMs
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
  const salts = await saltsOf(
    tx,
    clicks.map(({ at }) => at.dayStartMs),
  )
  const visits = new Map<string, CountedClick>()
  const rows: Row<'click_visitors'>[] = []
  for (const each of clicks) {
    const { link, visitorUnder } = each.click
    if (visitorUnder === null) continue
    const day_start_ms = each.at.dayStartMs
    const row = { day_start_ms, link_id: link, visitor: visitorUnder(salts.get(day_start_ms) as Uint8Array) }
    const name = nameOf(row)
    if (visits.has(name)) continue
    visits.set(name, each)
    rows.push(row)
  }
  rows.sort((a, b) => a.day_start_ms - b.day_start_ms || a.link_id - b.link_id || a.visitor - b.visitor)
  for (const some of parts(rows)) {
    const insert = query.insertInto('click_visitors').values(some)
    const added = insert
      .onConflict((conflict) => conflict.doNothing())
      .returning(['day_start_ms', 'link_id', 'visitor'])
    for (const row of await tx.execute(added)) (visits.get(nameOf(row)) as CountedClick).isFirst = true
  }
}

function nameOf({ day_start_ms, link_id, visitor }: Row<'click_visitors'>): string {
  return `${day_start_ms} ${link_id} ${visitor}`
}

/** Returns the salts by the start of their days. Creates missing and emptied ones. */
async function saltsOf(tx: Db, all: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>> {
  const days = [...new Set(all)].sort((a, b) => a - b)
  const read = async () => {
    const rows = await tx.execute(query.selectFrom('click_salts').selectAll().where('day_start_ms', 'in', days))
    return new Map(rows.flatMap(({ day_start_ms, salt }) => (salt.length > 0 ? [[day_start_ms, salt]] : [])))
  }
  const salts = await read()
  const missing = days.filter((day) => !salts.has(day))
  if (missing.length === 0) return salts
  const rows = missing.map((day_start_ms) => ({ day_start_ms, salt: randomBytes(saltBytes) }))
  await tx.execute(
    query
      .insertInto('click_salts')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .column('day_start_ms')
          .doUpdateSet(({ ref }) => ({ salt: ref('excluded.salt') }))
          .where(({ fn }) => fn('length', ['click_salts.salt']), '=', 0),
      ),
  )
  return read()
}

/** Adds clicks to all days that include them: link, domain, space and account. */
async function addToDays(tx: Db, clicks: readonly CountedClick[]): Promise<void> {
  const accounts = clicks.map(({ link }) => link.account)
  const places = await lockAccounts(tx, accounts)
  const totals = new Map(clicks.map(({ link }) => [link.link, link]))
  const links = Map.groupBy(clicks, ({ click, at }) => `${at.day} ${click.link}`)
  const groups = new Map<string, DayClicks>()
  const save = (days: Days) => days.save(places, totals)
  await changeDays(tx, save, [...links.values()].map(dayOfLink), (day, own) => {
    const [{ link }] = own as [CountedClick]
    if (day.facts.hours.size === 0) Object.assign(day, { domain: link.domain, space: link.space })
    for (const each of own) addClick(day.facts, each)
    for (const key of groupKeys(link, day)) addTo(groups, key, own)
  })
  await changeDays(tx, save, [...groups.values()], ({ facts }, own) => {
    for (const each of own) {
      const { click, link } = each
      addClick(facts, each)
      if (click.class === 'person') addPeople(facts.breakdowns.links, link.link, click.count)
    }
  })
}

/** A day and its clicks in a batch. */
interface DayClicks {
  readonly key: DayKey
  readonly clicks: CountedClick[]
}

function dayOfLink(clicks: CountedClick[]): DayClicks {
  const [{ click, at, link }] = clicks as [CountedClick]
  return { key: { account: link.account, scope: scopes.link, day: at.day, id: click.link }, clicks }
}

function addTo(days: Map<string, DayClicks>, key: DayKey, clicks: readonly CountedClick[]): void {
  const name = `${key.scope} ${key.day} ${key.id}`
  const known = days.get(name)
  if (known === undefined) days.set(name, { key, clicks: [...clicks] })
  else known.clicks.push(...clicks)
}

/** Reads, changes and stores days in the order of the table, a bounded number at a time. */
async function changeDays(
  tx: Db,
  save: (days: Days) => Promise<void>,
  changed: readonly DayClicks[],
  change: (day: Day, clicks: readonly CountedClick[]) => void,
): Promise<void> {
  const sorted = changed.toSorted(({ key: a }, { key: b }) => a.scope - b.scope || a.day - b.day || a.id - b.id)
  for (const some of parts(sorted, daysInMemory)) {
    const days = new Days(tx)
    const read = await days.read(some.map(({ key }) => key))
    for (const [at, { clicks }] of some.entries()) change(read[at] as Day, clicks)
    await save(days)
  }
}

function addClick(facts: DayFacts, { click, at, isFirst }: CountedClick): void {
  const counts = hourOf(facts, at.hour)
  counts[counters[click.class]] += click.count
  if (click.class !== 'person') return
  if (isFirst) counts.unique += 1
  for (const dimension of dimensionsOfLinks) {
    addPeople(facts.breakdowns[dimension], click.facts?.[dimension] ?? null, click.count)
  }
}

async function addToTotals(tx: Db, clicks: readonly CountedClick[]): Promise<void> {
  for (const { click, link } of clicks) {
    if (click.class === 'person') {
      link.clicks += click.count
      link.lastClickedMs = Math.max(link.lastClickedMs ?? 0, click.atMs)
    } else link[counters[click.class]] += click.count
  }
  const changed = new Set(clicks.map(({ link }) => link))
  await saveTotals(tx, [...changed])
  const isReached = ({ clicks, limit }: LinkTotals) => limit !== null && clicks >= limit
  const reached = [...changed].filter(isReached).map(({ link }) => link)
  await makeStatusDue(tx, reached)
}
