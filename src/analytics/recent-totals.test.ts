import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { actionsOn } from '../../test/actions.ts'
import { keptDays, newClick, newClickPlace } from '../../test/clicks.ts'
import { manyPeople } from '../../test/days.ts'
import { newDomain, newLink, newSpace, setDomain, setSpace } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { calendarOf, dayMs, hourMs, recentDays } from '../accounts/calendar.ts'
import { createAccount, findTimeZones, updateAccount } from '../accounts/store.ts'
import { listRecordEvents } from '../events/store.ts'
import type { Db } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { countPeople } from './day.ts'
import { moveSomeClicks } from './maintenance.ts'
import { skipDaysWithoutClicks, subtractOldDays } from './recent-totals.ts'
import { isRecent, lockAccounts, type RecentCursors } from './tables.ts'
import { storeDays } from './transfer-store.ts'

const zones = ['UTC', 'Asia/Kathmandu', 'America/Los_Angeles', 'Pacific/Kiritimati'] as const

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      visit: fc.constantFrom(0, 1, 3),
      daysAgo: fc.nat(2),
      count: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ import: fc.constantFrom(0, 1, 3), daysAgo: fc.integer({ min: 0, max: 34 }) }) },
  { weight: 2, arbitrary: fc.record({ move: fc.constantFrom(0, 1, 3), to: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ follow: fc.constantFrom(0, 1, 3) }) },
  { weight: 2, arbitrary: fc.record({ deleteOrRestore: fc.constantFrom(0, 1, 3) }) },
  { weight: 1, arbitrary: fc.record({ deleteOrRestoreDomain: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.constantFrom(0, 1, 3) }) },
  { weight: 4, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 4, arbitrary: fc.record({ subtract: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ zone: fc.constantFrom(...zones), of: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ maintain: fc.constantFrom(0, 0, 10, 40) }) },
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

type ClickPlace = Awaited<ReturnType<typeof newClickPlace>>
interface Owned {
  readonly id: number
  readonly account: number
}

/** Two accounts, each with links, and a clock. */
class Run {
  readonly #place: ClickPlace
  readonly #links: readonly Owned[]
  readonly #domains: readonly Owned[]
  #now = Date.now()
  #batch = 0

  private constructor(place: ClickPlace, links: readonly Owned[], domains: readonly Owned[]) {
    this.#place = place
    this.#links = links
    this.#domains = domains
  }

  static async start(place: ClickPlace): Promise<Run> {
    const { storage, account, domain, links } = place
    const { id: second } = await createAccount(storage, 'Second')
    const theirs = await newDomain(storage, second, 'second.example')
    const own = links.map((id) => ({ id, account }))
    for (const alias of ['a', 'b', 'c']) {
      own.push({ id: await newLink(storage, { account: second, domain: theirs }, alias), account: second })
    }
    await newSpace(storage, second, 'Theirs')
    return new Run(place, own, [
      { id: domain, account },
      { id: theirs, account: second },
    ])
  }

  async take(step: Step): Promise<void> {
    const { storage, database, maintenance, store } = this.#place
    if ('visit' in step) {
      const { id } = this.#link(step.visit)
      this.#batch += 1
      await store.write(this.#batch, [newClick(id, this.#now - step.daysAgo * dayMs, { count: step.count })])
    } else if ('import' in step) {
      const { id, account } = this.#link(step.import)
      const day = Math.floor(this.#now / dayMs) - step.daysAgo
      const facts = manyPeople(step.daysAgo + 1, 'countries', 'DE')
      await storage.write((tx) => storeDays(tx, account, [{ link: id, day, facts }]), 'serializable')
    } else if ('move' in step) await this.#move(this.#link(step.move), step.to)
    else if ('follow' in step) await database.write((tx) => moveSomeClicks(tx, this.#link(step.follow).id))
    else if ('deleteOrRestore' in step) await this.#deleteOrRestore('link', this.#link(step.deleteOrRestore))
    else if ('deleteOrRestoreDomain' in step) {
      await this.#deleteOrRestore('domain', this.#domains[step.deleteOrRestoreDomain] as Owned)
    } else if ('forget' in step) {
      const { id, account } = this.#link(step.forget)
      await maintenance.deleteClicks(systemActor(account), id)
    } else if ('wait' in step) this.#now += step.wait * hourMs
    else if ('subtract' in step) {
      for (let n = 0; n < step.subtract; n++) await database.write((tx) => subtractOldDays(tx, this.#bounds(0), 1))
    } else if ('zone' in step) {
      const { account } = this.#domains[step.of] as Owned
      await updateAccount(storage, systemActor(account), { name: 'Acme', time_zone: step.zone }, this.#now)
    } else await maintenance.run({ visitorsUntilMs: 0, ...this.#bounds(step.maintain) })
  }

  #link(at: number): Owned {
    return this.#links[at] as Owned
  }

  /** Moves a link to a space, to no space, or to a domain. */
  async #move({ id, account }: Owned, to: number): Promise<void> {
    const { storage, domains, spaces } = this.#place
    if (account !== this.#place.account) return
    const domain = domains[to - 3]
    // Another step may have deleted the domain.
    const stored = query.selectFrom('domains').select('id').where('account_id', '=', account)
    if (domain !== undefined && !(await storage.execute(stored)).some(({ id }) => id === domain)) return
    if (domain === undefined) await storage.execute(setSpace({ id, space: spaces[to] ?? null }))
    else await setDomain(storage, { id, domain })
  }

  #bounds(retention: number) {
    const daysBefore = retention === 0 ? 0 : Math.floor(this.#now / dayMs) - retention
    return { nowMs: this.#now, daysBefore }
  }

  async #deleteOrRestore(record: 'link' | 'domain', { id, account }: Owned): Promise<void> {
    const { storage } = this.#place
    const { actions, reversals } = actionsOn(storage)
    const actor = systemActor(account)
    const [last] = await listRecordEvents(storage, account, { record, id }, 1)
    if (last?.action === 'deleted') {
      // Its domain may be deleted, or what a reversal needs.
      await reversals.undoEvent(actor, last.id).catch((error) => assert.equal(error.code, 'not_undoable'))
    } else if (record === 'link') await actions.links.remove(actor, id, {}, null)
    else await actions.domains.remove(actor, id, { links: 'delete' }, null)
  }

  /** Compares all sums with the days after the cursor of each account. */
  async check(): Promise<void> {
    const { storage } = this.#place
    const accounts = [...new Set(this.#links.map(({ account }) => account))]
    const cursors = await storage.write((tx) => lockAccounts(tx, accounts))
    assert.deepEqual(await sumsOf(storage), await expectedSums(storage, cursors))
  }

  /** Finishes the maintenance, and checks that exactly the days of the last 30 days are included. */
  async end(): Promise<void> {
    const { storage, maintenance } = this.#place
    await skipDaysWithoutClicks(storage, this.#bounds(0))
    await maintenance.run({ visitorsUntilMs: 0, ...this.#bounds(0) })
    await this.check()
    for (const { account } of this.#domains) {
      const calendar = calendarOf(await findTimeZones(storage, account))
      const cursor = (await storage.write((tx) => lockAccounts(tx, [account]))).get(account)
      assert.ok(cursor !== undefined && cursor.day >= calendar.dayAt(this.#now) - recentDays + 1)
    }
  }
}

interface Sum {
  readonly level: number
  readonly id: number
  readonly clicks: number
}

/** Returns the stored sums of existing records. */
async function sumsOf(db: Db): Promise<Sum[]> {
  const links = query.selectFrom('link_clicks').select(['link_id as id', 'account_id', 'clicks_30d as clicks'])
  const groups = (table: 'domain_clicks' | 'space_clicks') =>
    query.selectFrom(table).select(['id', 'account_id', 'clicks_30d as clicks']).where('account_id', '>', 0)
  const all = [
    [clickLevels.link, await db.execute(links.orderBy('link_id'))],
    [clickLevels.domain, await db.execute(groups('domain_clicks').orderBy('id'))],
    [clickLevels.space, await db.execute(groups('space_clicks').orderBy('id'))],
  ] as const
  return all.flatMap(([level, rows]) => rows.map(({ id, clicks }) => ({ level, id, clicks })))
}

async function expectedSums(db: Db, cursors: RecentCursors): Promise<Sum[]> {
  const days = await keptDays(db)
  const accounts = new Map<string, number>()
  for (const [level, table] of [
    [clickLevels.link, 'links'],
    [clickLevels.domain, 'domains'],
    [clickLevels.space, 'spaces'],
  ] as const) {
    const rows = await db.execute(query.selectFrom(table).select(['id', 'account_id']))
    for (const { id, account_id } of rows) accounts.set(`${level} ${id}`, account_id)
  }
  return (await sumsOf(db)).map(({ level, id }) => {
    const account = accounts.get(`${level} ${id}`) as number
    const own = days.filter((day) => day.level === level && day.id === id)
    const recent = own.filter(({ day }) => isRecent({ account, level: level as 0, day, id }, cursors))
    return { level, id, clicks: recent.reduce((sum, { facts }) => sum + countPeople(facts), 0) }
  })
}

test('sums exactly the stored days after any changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 60, size: 'max' }), async (steps) => {
      await using ending = new AsyncDisposableStack()
      const run = await Run.start(await newClickPlace((work) => void ending.defer(async () => void (await work()))))
      for (const each of steps) {
        await run.take(each)
        await run.check()
      }
      await run.end()
    }),
    { numRuns: 5 },
  )
})
