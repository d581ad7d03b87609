/** Stores clicks as a process does, and reads their tables. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type Click, ClickStore } from '../src/analytics/click-store.ts'
import { countPeople, type DayFacts, decodeDay, dimensions, shownCounts, sumHours } from '../src/analytics/day.ts'
import { ClickMaintenance } from '../src/analytics/maintenance.ts'
import { openBatchWriter } from '../src/storage/batch-writer.ts'
import type { Db, StorageLocation } from '../src/storage/port.ts'
import { query } from '../src/storage/schema.ts'
import type { Later } from './engine.ts'
import { newDomain, newLink, newSpace, twoNodes } from './links.ts'

/** Opens the store and the maintenance of another process. */
export async function openClicks(location: StorageLocation, later: Later) {
  const database = await openBatchWriter(location)
  later(() => database.close())
  const store = new ClickStore(database, randomUUID())
  const maintenance = new ClickMaintenance(database)
  return { database, store, maintenance }
}

/** Two nodes on a database with two domains, two spaces and three links, two of them on one domain. */
export async function newClickPlace(later: Later, engine?: StorageLocation['engine']) {
  const { storage, account, domain } = await twoNodes(later, engine)
  const other = await newDomain(storage, account, 'other.acme.com')
  const spaces = [await newSpace(storage, account, 'Red'), await newSpace(storage, account, 'Blue')]
  const links = [
    await newLink(storage, { account, domain }, 'one'),
    await newLink(storage, { account, domain }, 'two'),
    await newLink(storage, { account, domain: other }, 'three'),
  ]
  return {
    storage,
    account,
    domain,
    domains: [domain, other],
    spaces,
    links,
    ...(await openClicks(storage.location, later)),
  }
}

let visitors = 0

/** Returns a human click of a new visitor. */
export function newClick(link: number, atMs: number, more: Partial<Click> = {}): Click {
  visitors += 1
  const visitor = visitors
  const facts = {
    countries: 'DE',
    referrers: null,
    browsers: 'Firefox',
    operating_systems: 'Linux',
    devices: 'desktop',
    languages: 'de',
    rules: null,
  }
  return { link, atMs, count: 1, class: 'person', facts, visitorUnder: () => visitor, ...more }
}

export interface KeptDay {
  readonly level: number
  readonly day: number
  readonly id: number
  readonly facts: DayFacts
}

/** Returns all stored days, whose totals must be the sums of their hours. */
export async function keptDays(db: Db): Promise<KeptDay[]> {
  const days = query.selectFrom('click_days').selectAll().orderBy('scope').orderBy('day').orderBy('id')
  return (await db.execute(days)).map(({ scope: level, day, id, hours, breakdowns, ...totals }) => {
    const facts = decodeDay({ hours, breakdowns })
    assert.partialDeepStrictEqual(totals, shownCounts(sumHours(facts)))
    return { level, day, id, facts }
  })
}

export async function keptTotals(db: Db) {
  const totals = query
    .selectFrom('link_clicks')
    .select(['link_id', 'clicks', 'bots', 'previews', 'domain_id', 'space_id', 'last_clicked_ms'])
  return (await db.execute(totals.orderBy('link_id'))).map((row) => ({ ...row }))
}

export const keptSalts = (db: Db) => db.execute(query.selectFrom('click_salts').selectAll().orderBy('day_start_ms'))
export const keptVisitors = (db: Db) => db.execute(query.selectFrom('click_visitors').selectAll())

/** Returns the clicks of a day by class, and the dimensions that add up to its human clicks. */
export function sumsOf({ hours, breakdowns }: DayFacts) {
  const sums = { people: 0, unique: 0, bots: 0, previews: 0 }
  for (const hour of hours.values()) for (const name of classes) sums[name] += hour[name]
  const people = countPeople({ hours })
  const addUp = dimensions.filter((dimension) => {
    const sum = [...breakdowns[dimension].values()].reduce((a, b) => a + b, 0)
    return sum === people
  })
  return { ...sums, addUp }
}

const classes = ['people', 'unique', 'bots', 'previews'] as const
