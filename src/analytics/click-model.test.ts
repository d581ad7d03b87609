/** Clicks after any changes: written by two nodes, imported, moved, deleted, restored, retained and transferred. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { actionsOn } from '../../test/actions.ts'
import { assertModel, ModelLink, readLinks } from '../../test/click-model.ts'
import { keptDays, newClick, newClickPlace, openClicks } from '../../test/clicks.ts'
import { stopClock } from '../../test/clock.ts'
import { manyPeople } from '../../test/days.ts'
import type { Later } from '../../test/engine.ts'
import { importText } from '../../test/import-text.ts'
import { newDomain, newLink, newSpace, setDomain, setSpace, twoNodes } from '../../test/links.ts'
import { runs } from '../../test/runs.ts'
import { systemActor } from '../access/actor.ts'
import { calendarOf, dayMs, hourMs, recentDays } from '../accounts/calendar.ts'
import { createAccount, findTimeZones, updateAccount } from '../accounts/store.ts'
import { transferables } from '../cli/transfer.ts'
import { listRecordEvents } from '../events/store.ts'
import type { Db, Storage } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { exportRecords } from '../transfer/export.ts'
import type { Click, ClickStore } from './click-store.ts'
import { countPeople } from './day.ts'
import { moveSomeClicks } from './maintenance.ts'
import { skipDaysWithoutClicks, subtractOldDays } from './recent-totals.ts'
import { isRecent, lockAccounts, type RecentCursors } from './tables.ts'
import { raiseTotals, storeDays } from './transfer-store.ts'

const zones = ['UTC', 'Asia/Kathmandu', 'America/Los_Angeles', 'Pacific/Kiritimati'] as const

const link = fc.constantFrom(0, 1, 3)
const visits = fc.array(
  fc.record({
    link: fc.nat(3),
    daysAgo: fc.nat(2),
    count: fc.constantFrom(1, 1, 4),
    class: fc.constantFrom('person' as const, 'person' as const, 'bot' as const, 'preview' as const),
    visitor: fc.option(fc.nat(5), { nil: null }),
    referrer: fc.option(fc.nat(60), { nil: null }),
    rule: fc.constantFrom(null, 'Germany', 'Test 1', 'Test 2', '…', '…… 2'),
  }),
  { minLength: 1, maxLength: 30 },
)

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ visits, others: visits, isRepeated: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ import: link, daysAgo: fc.integer({ min: 0, max: 34 }) }) },
  { weight: 3, arbitrary: fc.record({ move: link, to: fc.nat(4) }) },
  { weight: 3, arbitrary: fc.record({ follow: link }) },
  { weight: 2, arbitrary: fc.record({ deleteOrRestore: link }) },
  { weight: 1, arbitrary: fc.record({ deleteOrRestoreDomain: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ forget: link }) },
  { weight: 4, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 4, arbitrary: fc.record({ subtract: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ zone: fc.constantFrom(...zones), of: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ maintain: fc.constantFrom(0, 0, 10, 40) }) },
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A deletion interrupts a move, and the link is clicked again; in the second case, after the move is reversed. */
const interruptedMoves = [1, 0].map((last): [Step[]] => [
  [
    { move: 0, to: 0 },
    { maintain: 0 },
    { move: 0, to: 1 },
    { follow: 0 },
    { wait: 1 },
    { forget: 0 },
    { move: 0, to: last },
    { wait: 30 },
    { import: 0, daysAgo: 0 },
  ],
])

type ClickPlace = Awaited<ReturnType<typeof newClickPlace>>
interface Owned {
  readonly id: number
  readonly account: number
}

/** Two accounts, each with links, two nodes that write clicks, and the stopped clock of this process. */
class Run {
  readonly #advance: (ms: number) => void
  readonly #place: ClickPlace
  readonly #stores: readonly ClickStore[]
  readonly #links: readonly ModelLink[]
  readonly #domains: readonly Owned[]
  #batch = 0
  /** Part of each visitor's name, so that no visitor returns after clicks are deleted. */
  #visitors = 0

  private constructor(
    advance: (ms: number) => void,
    place: ClickPlace,
    others: ClickStore,
    links: readonly ModelLink[],
    domains: readonly Owned[],
  ) {
    this.#advance = advance
    this.#place = place
    this.#stores = [place.store, others]
    this.#links = links
    this.#domains = domains
  }

  /** Starts with an old day of more referrers and rules than a day can have, and with more days than one step moves. */
  static async start(advance: (ms: number) => void, later: Later): Promise<Run> {
    const place = await newClickPlace(later)
    const { storage, account, domain, links } = place
    const { id: second } = await createAccount(storage, 'Second')
    const theirs = await newDomain(storage, second, 'second.example')
    const own = links.map((id) => new ModelLink(id, account))
    own.push(new ModelLink(await newLink(storage, { account: second, domain: theirs }, 'a'), second))
    await newSpace(storage, second, 'Theirs')
    const domains = [
      { id: domain, account },
      { id: theirs, account: second },
    ]
    const run = new Run(advance, place, (await openClicks(storage.location, later)).store, own, domains)
    const crowd = Array.from({ length: 230 }, (_, n) =>
      run.#click(own[0] as ModelLink, 50, { referrer: n, rule: `Rule ${n}` }),
    )
    await run.#write(0, crowd)
    for (let daysAgo = 1; daysAgo < 13; daysAgo++) await run.#import(own[0] as ModelLink, daysAgo)
    return run
  }

  async take(step: Step): Promise<void> {
    const { storage, database, maintenance } = this.#place
    if ('visits' in step) await this.#visit(step)
    else if ('import' in step) await this.#import(this.#link(step.import), step.daysAgo)
    else if ('move' in step) await this.#move(this.#link(step.move), step.to)
    else if ('follow' in step) await database.write((tx) => moveSomeClicks(tx, this.#link(step.follow).id))
    else if ('deleteOrRestore' in step) await this.#deleteOrRestore('link', this.#link(step.deleteOrRestore))
    else if ('deleteOrRestoreDomain' in step) {
      await this.#deleteOrRestore('domain', this.#domains[step.deleteOrRestoreDomain] as Owned)
    } else if ('forget' in step) await this.#forget(this.#link(step.forget))
    else if ('wait' in step) this.#advance(step.wait * hourMs)
    else if ('subtract' in step) {
      for (let n = 0; n < step.subtract; n++) await database.write((tx) => subtractOldDays(tx, this.#bounds(0), 1))
    } else if ('zone' in step) {
      const { account } = this.#domains[step.of] as Owned
      await updateAccount(storage, systemActor(account), { name: 'Acme', time_zone: step.zone }, Date.now())
    } else {
      const bounds = this.#bounds(step.maintain)
      await maintenance.run({ visitorsUntilMs: 0, ...bounds })
      for (const each of this.#links) each.forgetDaysBefore(bounds.daysBefore)
    }
  }

  #link(at: number): ModelLink {
    return this.#links[at] as ModelLink
  }

  #click(to: ModelLink, daysAgo: number, more: { referrer: number | null; rule: string | null }): Click {
    const made = newClick(to.id, Date.now() - daysAgo * dayMs)
    const facts = {
      ...made.facts,
      rules: more.rule,
      referrers: more.referrer === null ? null : `h${more.referrer}.example`,
    }
    return { ...made, facts: facts as unknown as Click['facts'] }
  }

  /** Lets both nodes write clicks at the same time, and one of them repeat its batch. */
  async #visit({ visits: here, others, isRepeated }: Extract<Step, { readonly visits: unknown }>): Promise<void> {
    this.#batch += 1
    const batches = [here, others].map((some) =>
      some.map(({ link: at, daysAgo, class: kind, count, visitor, ...more }) => {
        const made = { ...this.#click(this.#link(at), daysAgo, more), class: kind, count }
        if (kind !== 'person') return { ...made, facts: null, visitorUnder: null }
        return { ...made, visitorUnder: visitor === null ? null : () => this.#visitors * 100 + visitor }
      }),
    )
    await Promise.all(batches.map((some, node) => this.#write(node, some)))
    if (isRepeated) assert.equal(await this.#stores[0]?.write(this.#batch, batches[0] ?? []), null)
  }

  async #write(node: number, clicks: readonly Click[]): Promise<void> {
    await this.#stores[node]?.write(this.#batch, clicks)
    for (const click of clicks) {
      const own = this.#links.find(({ id }) => id === click.link) as ModelLink
      const calendar = calendarOf(await findTimeZones(this.#place.storage, own.account))
      own.count(calendar.hourAt(click.atMs), click)
    }
  }

  async #import(to: ModelLink, daysAgo: number): Promise<void> {
    const { storage } = this.#place
    const day = Math.floor(Date.now() / dayMs) - daysAgo
    const facts = manyPeople(daysAgo + 1, 'countries', 'DE')
    const isThere = (await readLinks(storage)).has(to.id)
    const store = (tx: Db) => storeDays(tx, to.account, [{ link: to.id, day, facts }])
    const [stored = ''] = await storage.write(store, 'serializable')
    await storage.write((tx) => raiseTotals(tx, to.account, [to.id]))
    if (!isThere) assert.equal(stored, 'gone')
    else if (to.import(day, daysAgo + 1)) assert.equal(stored, 'stored')
    else assert.ok(['known', 'other'].includes(stored), stored)
  }

  async #forget({ id, account }: Owned): Promise<void> {
    const isDone = await this.#place.maintenance.deleteClicks(systemActor(account), id)
    assert.equal(isDone, (await readLinks(this.#place.storage)).has(id))
    this.#visitors += 1
    this.#advance(hourMs)
    if (isDone) this.#links.find((each) => each.id === id)?.forget(Date.now())
  }

  /** Moves a link to a space, to no space, or to a domain. */
  async #move({ id, account }: Owned, to: number): Promise<void> {
    const { storage, domains, spaces } = this.#place
    if (account !== this.#place.account) return
    const domain = domains[to - 3]
    // Another step may have deleted the domain.
    const stored = query.selectFrom('domains').select('id').where('account_id', '=', account)
    if (domain !== undefined && !(await storage.execute(stored)).some((each) => each.id === domain)) return
    if (domain === undefined) await storage.execute(setSpace({ id, space: spaces[to] ?? null }))
    else await setDomain(storage, { id, domain })
  }

  #bounds(retention: number) {
    const daysBefore = retention === 0 ? 0 : Math.floor(Date.now() / dayMs) - retention
    return { nowMs: Date.now(), daysBefore }
  }

  async #deleteOrRestore(record: 'link' | 'domain', { id, account }: Owned): Promise<void> {
    const { storage } = this.#place
    const { actions } = actionsOn(storage)
    const actor = systemActor(account)
    if (await this.#restore(record, { id, account })) return
    if (record === 'link') await actions.links.remove(actor, id, {}, null)
    else await actions.domains.remove(actor, id, { links: 'delete' }, null)
  }

  /** Undoes the deletion of a record, and returns whether it was deleted. */
  async #restore(record: 'link' | 'domain', { id, account }: Owned): Promise<boolean> {
    const { storage } = this.#place
    const [last] = await listRecordEvents(storage, account, { record, id }, 1)
    if (last?.action !== 'deleted') return false
    // Its domain may be deleted.
    const { reversals } = actionsOn(storage)
    await reversals.undoEvent(systemActor(account), last.id).catch((error) => assert.equal(error.code, 'not_undoable'))
    return true
  }

  /** Compares all sums of recent clicks with the days after the cursor of each account. */
  async check(): Promise<void> {
    const { storage } = this.#place
    const accounts = [...new Set(this.#links.map(({ account }) => account))]
    const cursors = await storage.write((tx) => lockAccounts(tx, accounts))
    assert.deepEqual(await readSums(storage), await expectSums(storage, cursors))
  }

  /** Restores all records, finishes the maintenance, and compares everything with the model, here and after a transfer. */
  async end(later: Later): Promise<void> {
    const { storage, maintenance } = this.#place
    for (const each of this.#domains) await this.#restore('domain', each)
    for (const each of this.#links) await this.#restore('link', each)
    await skipDaysWithoutClicks(storage, this.#bounds(0))
    await maintenance.run({ visitorsUntilMs: 0, ...this.#bounds(0) })
    await this.check()
    for (const { account } of this.#domains) {
      const calendar = calendarOf(await findTimeZones(storage, account))
      const cursor = (await storage.write((tx) => lockAccounts(tx, [account]))).get(account)
      assert.ok(cursor !== undefined && cursor.day >= calendar.dayAt(Date.now()) - recentDays + 1)
    }
    await assertModel(storage, this.#links)
    await transfer(storage, this.#links, later)
  }
}

interface Sum {
  readonly level: number
  readonly id: number
  readonly clicks: number
}

/** Returns the stored sums of recent clicks of existing records. */
async function readSums(db: Db): Promise<Sum[]> {
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

async function expectSums(db: Db, cursors: RecentCursors): Promise<Sum[]> {
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
  return (await readSums(db)).map(({ level, id }) => {
    const account = accounts.get(`${level} ${id}`) as number
    const own = days.filter((day) => day.level === level && day.id === id)
    const recent = own.filter(({ day }) => isRecent({ account, level: level as 0, day, id }, cursors))
    return { level, id, clicks: recent.reduce((sum, { facts }) => sum + countPeople(facts), 0) }
  })
}

/** Exports the first account, and imports it on the other engine, where ids are others. */
async function transfer(storage: Storage, links: readonly ModelLink[], later: Later): Promise<void> {
  const there = await twoNodes(later, storage.location.engine === 'sqlite' ? 'postgres' : 'sqlite')
  const { id: theirs } = await createAccount(there.storage, 'Other')
  const place = { account: theirs, domain: await newDomain(there.storage, theirs, 'x.example') }
  await newLink(there.storage, place, 'theirs')
  const text = await exportText(storage)
  const { stored, reasons } = await importText(there.storage, text)
  assert.deepEqual(reasons, [])
  const linkLines = (lines: string) =>
    lines
      .match(/^\{"(?:link|click_day)".*$/gm)
      ?.join('\n')
      .replace(/"\w*id":\d+,/g, '')
  assert.equal(linkLines(await exportText(there.storage)), linkLines(text))
  const ids = await readAliases(there.storage)
  const aliases = new Map([...(await readAliases(storage))].map(([alias, id]) => [id, alias]))
  await assertModel(
    there.storage,
    links.flatMap((link) => (link.account === 1 ? [link.copy(ids.get(aliases.get(link.id) ?? '') ?? 0)] : [])),
  )
  const again = await importText(there.storage, text)
  assert.deepEqual([again.stored, again.known >= stored, again.reasons], [0, true, []])
}

async function exportText(storage: Storage): Promise<string> {
  return (await Array.fromAsync(exportRecords(storage, 1, transferables))).join('')
}

/** Returns the first account's links: their ids by alias. */
async function readAliases(db: Db): Promise<Map<string, number>> {
  const rows = await db.execute(query.selectFrom('links').select(['alias', 'id']).where('account_id', '=', 1))
  return new Map(rows.map(({ alias, id }) => [alias, id]))
}

test('days, totals and recent clicks match a model after any changes, and on the other engine after a transfer', async (t) => {
  const advance = stopClock(t)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 50, size: 'max' }), async (steps) => {
      await using ending = new AsyncDisposableStack()
      const later: Later = (work) => void ending.defer(async () => void (await work()))
      const run = await Run.start(advance, later)
      for (const each of steps) {
        await run.take(each)
        await run.check()
      }
      await run.end(later)
    }),
    { numRuns: runs(60, 10), examples: interruptedMoves },
  )
})
