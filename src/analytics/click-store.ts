import { randomBytes } from 'node:crypto'
import type { BatchWriter, Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { dayAndHourOf, dayOf } from './calendar.ts'
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
  parts,
  saveTotals,
  scopes,
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

/** A click as it was counted. */
export interface CountedClick {
  readonly click: Click
  /** The link's totals, and the records that it belongs to. */
  readonly link: Readonly<LinkTotals>
  /** Whether it was the visitor's first click on the link that day. */
  readonly isFirst: boolean
}

/** Gets clicks just before they are committed, and again if the commit fails. */
export type OnCounted = (clicks: readonly CountedClick[]) => void

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
      const day = Math.max(...clicks.map(({ atMs }) => dayOf(atMs)))
      if (!(await noteBatch(tx, this.#process, batch, day))) return null
      return count(tx, clicks, onCounted, (click, link) => !isForgotten(click, link))
    })
  }

  /**
   * Stores a human click if the limit of its link leaves one. Returns whether it did. No more clicks are counted than the
   * limit, however many processes ask at the same time.
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
  const links = await lockLinks(
    tx,
    clicks.map(({ link }) => link),
  )
  const known = clicks.flatMap((click) => {
    const link = links.get(click.link)
    return link === undefined || !mayCount(click, link) ? [] : [{ click, link }]
  })
  if (known.length === 0) return []
  const first = await findFirstVisits(tx, known)
  const counted = known.map((each): CountedClick => ({ ...each, isFirst: first.has(each.click) }))
  await addToDays(tx, counted)
  await addToTotals(tx, counted, links)
  onCounted(counted)
  return counted
}

/** Returns whether the link's clicks were deleted after the visit, which was still in the memory of a process. */
function isForgotten({ atMs, seenMs = atMs }: Click, { forgottenMs }: LinkTotals): boolean {
  return forgottenMs !== null && seenMs <= forgottenMs
}

/** Returns whether this is the first time that the process stores the batch. */
async function noteBatch(tx: Db, writer: string, batch: number, day: number): Promise<boolean> {
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

interface KnownClick {
  readonly click: Click
  readonly link: LinkTotals
}

/** Stores the visitors of human clicks. Returns the clicks that are the first of their visitor that day. */
async function findFirstVisits(tx: Db, clicks: readonly KnownClick[]): Promise<Set<Click>> {
  const salts = await saltsOf(
    tx,
    clicks.map(({ click }) => dayOf(click.atMs)),
  )
  const visits: { readonly click: Click; readonly row: VisitorRow }[] = []
  for (const { click } of clicks) {
    if (click.visitorUnder === null) continue
    const day = dayOf(click.atMs)
    visits.push({ click, row: { day, link_id: click.link, visitor: click.visitorUnder(salts.get(day) as Uint8Array) } })
  }
  // The sort is stable: the first click of a visitor stays the first.
  visits.sort((a, b) => compareVisitors(a.row, b.row))
  const visitors = visits.filter(({ row }, at) => {
    const before = visits[at - 1]
    return before === undefined || compareVisitors(before.row, row) !== 0
  })
  const first = new Set<Click>()
  for (const some of parts(visitors)) {
    const insert = query.insertInto('click_visitors').values(some.map(({ row }) => row))
    const added = insert.onConflict((conflict) => conflict.doNothing()).returning(['day', 'link_id', 'visitor'])
    const rows = await tx.execute(added)
    const names = new Set(rows.length < some.length ? rows.map(nameOf) : [])
    for (const { click, row } of some) if (rows.length === some.length || names.has(nameOf(row))) first.add(click)
  }
  return first
}

interface VisitorRow {
  readonly day: number
  readonly link_id: number
  readonly visitor: number
}

function nameOf({ day, link_id, visitor }: VisitorRow): string {
  return `${day} ${link_id} ${visitor}`
}

function compareVisitors(a: VisitorRow, b: VisitorRow): number {
  return a.day - b.day || a.link_id - b.link_id || a.visitor - b.visitor
}

/** Returns the salts of days. Creates the missing ones, and those that have been emptied. */
async function saltsOf(tx: Db, all: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>> {
  const days = [...new Set(all)].sort((a, b) => a - b)
  const read = async () => {
    const rows = await tx.execute(query.selectFrom('click_salts').selectAll().where('day', 'in', days))
    return new Map(rows.flatMap(({ day, salt }) => (salt.length > 0 ? [[day, salt]] : [])))
  }
  const salts = await read()
  const missing = days.filter((day) => !salts.has(day))
  if (missing.length === 0) return salts
  const rows = missing.map((day) => ({ day, salt: randomBytes(saltBytes) }))
  await tx.execute(
    query
      .insertInto('click_salts')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .column('day')
          .doUpdateSet(({ ref }) => ({ salt: ref('excluded.salt') }))
          .where(({ fn }) => fn('length', ['click_salts.salt']), '=', 0),
      ),
  )
  return read()
}

/** Adds clicks to the days of their links, and of the domains, spaces and accounts of these. */
async function addToDays(tx: Db, clicks: readonly CountedClick[]): Promise<void> {
  await lockAccounts(
    tx,
    clicks.map(({ link }) => link.account),
  )
  const [links, groups] = [new ClicksByDay(), new ClicksByDay()]
  for (const each of clicks) links.add(linkKey(each.click), each)
  await changeDays(tx, links, (day, own) => {
    const [{ link }] = own as [CountedClick]
    if (day.facts.hours.size === 0) day.space = link.space
    for (const { click, isFirst } of own) addClick(day.facts, click, isFirst)
    for (const key of groupKeys(link, day)) groups.add(key, ...own)
  })
  await changeDays(tx, groups, ({ facts }, own) => {
    for (const { click, link, isFirst } of own) {
      addClick(facts, click, isFirst)
      if (click.class === 'person') addPeople(facts.breakdowns.links, link.link, click.count)
    }
  })
}

/** Clicks by the day that counts them. */
class ClicksByDay {
  readonly #days = new Map<string, { readonly key: DayKey; readonly clicks: CountedClick[] }>()

  add(key: DayKey, ...clicks: readonly CountedClick[]): void {
    const name = `${key.scope} ${key.day} ${key.id}`
    const known = this.#days.get(name)
    if (known === undefined) this.#days.set(name, { key, clicks: [...clicks] })
    else known.clicks.push(...clicks)
  }

  /** Returns the days in the order of the table. */
  sorted(): { readonly key: DayKey; readonly clicks: readonly CountedClick[] }[] {
    return [...this.#days.values()].sort(({ key: a }, { key: b }) => a.scope - b.scope || a.day - b.day || a.id - b.id)
  }
}

/** Reads, changes and stores days, a bounded number at a time. */
async function changeDays(
  tx: Db,
  changed: ClicksByDay,
  change: (day: Day, clicks: readonly CountedClick[]) => void,
): Promise<void> {
  for (const some of parts(changed.sorted(), daysInMemory)) {
    const days = new Days(tx)
    const read = await days.read(some.map(({ key }) => key))
    for (const [at, { clicks }] of some.entries()) change(read[at] as Day, clicks)
    await days.save()
  }
}

function linkKey({ link, atMs }: Click): DayKey {
  return { scope: scopes.link, day: dayOf(atMs), id: link }
}

function addClick(facts: DayFacts, click: Click, isFirst: boolean): void {
  const counts = hourOf(facts, dayAndHourOf(click.atMs).hour)
  counts[counters[click.class]] += click.count
  if (click.class !== 'person') return
  if (isFirst) counts.unique += 1
  for (const dimension of dimensionsOfLinks) {
    addPeople(facts.breakdowns[dimension], click.facts?.[dimension] ?? null, click.count)
  }
}

async function addToTotals(
  tx: Db,
  clicks: readonly CountedClick[],
  links: ReadonlyMap<number, LinkTotals>,
): Promise<void> {
  const changed = new Set<LinkTotals>()
  const reached = new Set<number>()
  for (const { click } of clicks) {
    const totals = links.get(click.link) as LinkTotals
    changed.add(totals)
    if (click.class === 'person') {
      totals.clicks += click.count
      totals.lastClickedMs = Math.max(totals.lastClickedMs ?? 0, click.atMs)
      if (totals.limit !== null && totals.clicks >= totals.limit) reached.add(click.link)
    } else totals[counters[click.class]] += click.count
  }
  await saveTotals(tx, [...changed])
  await makeStatusDue(tx, [...reached])
}
