import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { stopMonotonicClock } from '../../test/clock.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { fillChanges, newDomain, newLink, setAlias, setUrl, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
import { loggedDomains } from '../domains/reversal.ts'
import { insertDomain } from '../domains/store.ts'
import { databaseUnavailable } from '../errors.ts'
import { noAppLinks } from '../names/app-links.ts'
import type { Storage } from '../storage/port.ts'
import { Directory, type DirectoryOptions } from './directory.ts'
import { prepareRedirect } from './redirects.ts'
import type { ServedDomain, ServedLink } from './store.ts'

const hour = 3_600_000

/** A storage whose calls wait or fail on demand. */
class Watched {
  isAway = false
  /** Lookups wait for this promise after they have read. */
  held: Promise<unknown> = Promise.resolve()
  /** Lookups find nothing, without a query. */
  isEmpty = false
  lookups = 0
  /** Lookups that have read. */
  reads = 0
  polls = 0
  readonly storage: Storage

  constructor(real: Storage) {
    const execute: Storage['execute'] = async (query) => {
      this.#check()
      this.lookups += 1
      const rows = this.isEmpty ? [] : await real.execute(query)
      this.reads += 1
      await this.held
      return rows
    }
    const changesAfter: Storage['changesAfter'] = async (position) => {
      this.polls += 1
      this.#check()
      return real.changesAfter(position)
    }
    this.storage = withMethods(real, { execute, changesAfter })
  }

  #check(): void {
    if (this.isAway) throw databaseUnavailable(new Error('away'))
  }
}

/** Opens a directory on the first node, and a second node for changes. */
async function open(t: TestContext, options: Partial<DirectoryOptions> = {}) {
  const nodes = await twoNodes((work) => t.after(work))
  const watched = new Watched(nodes.storage)
  const problems: unknown[] = []
  const onProblem = (error: unknown) => problems.push(error)
  const directory = new Directory(watched.storage, { staleForMs: hour, onProblem, ...options })
  t.after(() => directory.close())
  await directory.start()
  watched.lookups = 0
  watched.reads = 0
  const own = directory.domainNamed('go.acme.com') as ServedDomain
  const find = async (alias: string, domain = own) => directory.findLink(domain, alias)
  return { ...nodes, directory, watched, problems, own, find }
}

const meterOf = (directory: Directory, name: string) => {
  const value = directory.meters.find((meter) => meter.name === name)?.value
  return typeof value === 'function' ? value() : Number.NaN
}

test('caches all domains, and a link after its first visit', async (t) => {
  const { directory, watched, storage, own, ...owner } = await open(t)
  const id = await newLink(storage, owner, 'Sale', 5)
  const urls = { homepage_url: null, not_found_url: null }
  const { updated_at } = own
  assert.deepEqual(own, { id: owner.domain, name: 'go.acme.com', ...urls, updated_at, has_app_links: 0 })
  assert.equal(directory.domainNamed('go.acme.org'), undefined)
  const first = directory.findLink(own, 'sale')
  assert.ok(first instanceof Promise)
  const link = (await first) as ServedLink
  assert.equal(directory.findLink(own, 'sale'), link)
  assert.equal(watched.lookups, 1)
  assert.deepEqual(
    { ...link },
    {
      id,
      addressId: 1,
      alias: 'Sale',
      disabled: false,
      active_period_start_at: null,
      active_period_end_at: null,
      clicks_limit: 5,
      clicks: 0,
      expiration_url: null,
      redirect_password: null,
      forward_query: false,
      destinations: [prepareRedirect('https://acme.com/', 302)],
      rules: null,
      account_id: 1,
    },
  )
  assert.equal(meterOf(directory, 'links'), 1)
  assert.equal(meterOf(directory, 'domains'), 1)
})

test('applies changes of this process immediately', async (t) => {
  const { directory, find, storage, own, ...owner } = await open(t)
  assert.equal(await find('sale'), null)
  const id = await newLink(storage, owner, 'sale')
  directory.linkChanged(id, own.id, 'sale')
  assert.equal((await find('sale'))?.id, id)
  await setAlias(storage, id, 'autumn')
  directory.linkChanged(id, own.id, 'autumn')
  assert.equal(await find('sale'), null)
  assert.equal((await find('autumn'))?.id, id)
  const domain = await newDomain(storage, owner.account, 'go.acme.net')
  await Promise.all([directory.refresh(), directory.refresh()])
  assert.equal(directory.domainNamed('go.acme.net')?.id, domain)
})

test('serves domains of this process without reading them, and polls after 500, so that the log is never too long', async (t) => {
  const { directory, watched, storage, account } = await open(t)
  const actor = systemActor(account)
  const { record } = await insertDomain(storage, actor, { name: 'a.example', nameUnicode: 'a.example' }, {})
  const homepage_url = 'https://b.example/'
  const changed = await loggedDomains.change(storage, actor, record.id, { homepage_url, asset_links: '[]' }, null)
  const later = { ...record, ...changed?.record }
  for (const domain of [record, later, { ...record, updated_at: '2000' }]) directory.domainChanged(domain)
  const served = directory.domainNamed('a.example')
  assert.deepEqual([served?.homepage_url, served?.has_app_links], [homepage_url, 1])
  assert.deepEqual([watched.lookups, watched.polls], [0, 1])
  for (let n = 3; n < 1_000; n++) directory.domainChanged(later)
  await directory.refresh()
  assert.equal(watched.polls, 3)
})

for (const [by, heard] of [
  ['this process', true],
  ['another node', false],
] as const) {
  test(`discards a lookup during which ${by} changes the link`, async (t) => {
    const { directory, watched, find, storage, other, ...owner } = await open(t)
    const id = await newLink(storage, owner, 'sale')
    const { promise, resolve } = Promise.withResolvers<void>()
    watched.held = promise
    const old = find('sale')
    await eventually(() => watched.reads === 1)
    watched.held = Promise.resolve()
    await other.execute(setUrl({ id, url: 'https://acme.com/new' }))
    if (heard) directory.linkChanged(id, owner.domain, 'sale')
    else await directory.refresh()
    const later = find('sale')
    resolve()
    assert.equal((await old)?.destinations[0].location, 'https://acme.com/')
    assert.equal((await later)?.destinations[0].location, 'https://acme.com/new')
    assert.equal((await find('sale'))?.destinations[0].location, 'https://acme.com/new')
  })
}

test('looks up an alias without a link again after 900 ms', async (t) => {
  const tick = stopMonotonicClock(t)
  const { directory, watched, find, other, own, ...owner } = await open(t)
  assert.equal(await find('sale'), null)
  const id = await newLink(other, owner, 'sale')
  tick(899)
  assert.equal(directory.findLink(own, 'sale'), null)
  assert.equal(watched.lookups, 1)
  tick(2)
  assert.equal((await find('sale'))?.id, id)
})

test('shares a lookup among concurrent visits', async (t) => {
  const { watched, find, storage, ...owner } = await open(t)
  const id = await newLink(storage, owner, 'sale')
  const found = await Promise.all(Array.from({ length: 50 }, () => find('sale')))
  assert.ok(found.every((link) => link?.id === id))
  assert.equal(watched.lookups, 1)
})

test('rejects lookups with overloaded above the concurrency limit', async (t) => {
  const { directory, watched, find } = await open(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  watched.held = promise
  // PostgreSQL on a busy machine would not respond to 800 queries within its timeout.
  watched.isEmpty = true
  const asked = Array.from({ length: 800 }, (_, n) => find(`a${n}`))
  await assert.rejects(find('one-more'), { code: 'overloaded' })
  assert.equal(meterOf(directory, 'refused_lookups_total'), 1)
  resolve()
  await Promise.all(asked)
  assert.equal(await find('one-more'), null)
  assert.equal(meterOf(directory, 'missed_lookups_total'), 801)
})

test('evicts the links that were not visited recently', async (t) => {
  const { directory, watched, find, storage, own, ...owner } = await open(t, { maxLinkBytes: 20_000 })
  for (let n = 0; n < 60; n++) await newLink(storage, owner, `a${n}`)
  for (let n = 0; n < 60; n++) {
    await find('a0')
    await find(`a${n}`)
  }
  assert.ok(meterOf(directory, 'links') < 40)
  assert.equal(watched.lookups, 60)
  assert.ok(!(directory.findLink(own, 'a0') instanceof Promise))
})

test('counts the page of a redirect as memory, in which some characters are longer', async (t) => {
  const { directory, find, storage, own, ...owner } = await open(t, { maxLinkBytes: 40_000 })
  const [long, short] = [await newLink(storage, owner, 'a'), await newLink(storage, owner, 'b')]
  await storage.execute(setUrl({ id: long, url: `https://acme.com/${'&'.repeat(5_000)}` }))
  await storage.execute(setUrl({ id: short, url: `https://acme.com/${'a'.repeat(5_000)}` }))
  await find('a')
  assert.equal(meterOf(directory, 'links'), 0)
  await find('b')
  assert.equal(meterOf(directory, 'links'), 1)
})

test('serves from memory while the database is down, and reads everything again afterwards', async (t) => {
  const { directory, watched, problems, find, own, storage, other, ...owner } = await open(t)
  const id = await newLink(storage, owner, 'sale')
  await find('sale')
  watched.isAway = true
  const before = watched.polls
  await eventually(() => watched.polls > before + 1)
  assert.equal(directory.domainNamed('go.acme.com'), own)
  assert.equal((directory.findLink(own, 'sale') as ServedLink).id, id)
  await assert.rejects(find('other'), { code: 'database_unavailable' })
  assert.equal(problems.length, 1)
  await other.execute(setUrl({ id, url: 'https://acme.com/new' }))
  await newDomain(other, owner.account, 'go.acme.net')
  watched.isAway = false
  await eventually(async () => (await find('sale'))?.destinations[0].location === 'https://acme.com/new')
  await eventually(() => directory.domainNamed('go.acme.net') !== undefined)
  watched.isAway = true
  await eventually(() => problems.length === 2)
})

test('throws database_unavailable if memory is too old', async (t) => {
  const tick = stopMonotonicClock(t)
  const { directory, watched } = await open(t, { staleForMs: 10_000 })
  watched.isAway = true
  tick(10_000)
  assert.ok(directory.domainNamed('go.acme.com'))
  tick(1)
  assert.throws(() => directory.domainNamed('go.acme.com'), { code: 'database_unavailable' })
  assert.equal(meterOf(directory, 'age_seconds'), 10.001)
  watched.isAway = false
  await directory.refresh()
  assert.ok(directory.domainNamed('go.acme.com'))
})

for (const [why, pass] of [
  ['after a pause in which changes may have been forgotten', (later: (ms: number) => void) => later(30_001)],
  ['when there were too many changes', async (_: unknown, other: Storage) => other.execute(fillChanges(3_000))],
] as const) {
  test(`reads everything again ${why}`, async (t) => {
    const tick = stopMonotonicClock(t)
    const { directory, find, storage, other, ...owner } = await open(t)
    await newLink(storage, owner, 'sale')
    await find('sale')
    await directory.refresh()
    assert.equal(meterOf(directory, 'links'), 1)
    await pass(tick, other)
    await directory.refresh()
    assert.equal(meterOf(directory, 'links'), 0)
    assert.ok(directory.domainNamed('go.acme.com'))
  })
}

test('reads changed domains in small batches', async (t) => {
  const { directory, watched, other, account } = await open(t)
  // One commit, so that a poll sees all of them.
  await other.write(async (db) => {
    for (let made = 0; made < 250; made++) await newDomain(db, account, `go${made}.acme.net`)
  })
  await directory.refresh()
  assert.ok(directory.domainNamed('go249.acme.net'))
  // 128, 64, 32, 16, 8 and 2 domains.
  assert.equal(watched.lookups, 6)
})

test('caches the files of a domain until it changes, even on another node, and serves them while the database is down', async (t) => {
  const { directory, watched, other, own, account } = await open(t)
  const actor = systemActor(account)
  assert.deepEqual([directory.findAppLinks(own), watched.lookups], [noAppLinks, 0])
  const change = async (asset_links: string) => {
    await loggedDomains.change(other, actor, own.id, { asset_links }, null)
    await directory.refresh()
    watched.lookups = 0
    return directory.domainNamed('go.acme.com') as ServedDomain
  }
  const domain = await change('[]')
  assert.deepEqual(await directory.findAppLinks(domain), { ...noAppLinks, asset_links: '[]' })
  assert.deepEqual(directory.findAppLinks(domain), { ...noAppLinks, asset_links: '[]' })
  assert.equal(watched.lookups, 1)
  const changed = await change('[{"include": "a"}]')
  watched.isAway = true
  await assert.rejects(async () => directory.findAppLinks(changed), { code: 'database_unavailable' })
  watched.isAway = false
  assert.equal((await directory.findAppLinks(changed)).asset_links, '[{"include": "a"}]')
  watched.isAway = true
  assert.deepEqual(directory.findAppLinks(changed), { ...noAppLinks, asset_links: '[{"include": "a"}]' })
})

for (const [by, heard] of [
  ['before', true],
  ['after', false],
] as const) {
  test(`does not serve files that were read ${by} a change of the domain is known`, async (t) => {
    const { directory, watched, other, own, account } = await open(t)
    const change = (asset_links: string) =>
      loggedDomains.change(other, systemActor(account), own.id, { asset_links }, null)
    await change('[]')
    await directory.refresh()
    const domain = directory.domainNamed('go.acme.com') as ServedDomain
    const { promise, resolve } = Promise.withResolvers<void>()
    watched.held = promise
    watched.reads = 0
    const old = directory.findAppLinks(domain)
    await eventually(() => watched.reads === 1)
    watched.held = Promise.resolve()
    await change('[{"include": "a"}]')
    if (heard) await directory.refresh()
    resolve()
    assert.equal((await old).asset_links, '[]')
    await directory.refresh()
    const changed = directory.domainNamed('go.acme.com') as ServedDomain
    assert.equal((await directory.findAppLinks(changed)).asset_links, '[{"include": "a"}]')
  })
}

test('bounds the memory of files', async (t) => {
  const { directory, watched, other, account } = await open(t)
  const asset_links = `[{"include":"${'x'.repeat(24_000)}"}]`
  await other.write(async (db) => {
    for (let n = 0; n < 120; n++) {
      const name = `f${n}.acme.net`
      await insertDomain(db, systemActor(account), { name, nameUnicode: name }, { asset_links })
    }
  })
  await directory.refresh()
  const visitAll = async () => {
    watched.lookups = 0
    for (let n = 0; n < 120; n++) await directory.findAppLinks(directory.domainNamed(`f${n}.acme.net`) as ServedDomain)
    return watched.lookups
  }
  assert.equal(await visitAll(), 120)
  assert.ok((await visitAll()) > 0)
})

test('prunes changes that are older than a minute', async (t) => {
  const tick = stopMonotonicClock(t)
  const nodes = await twoNodes((work) => t.after(work))
  const pruned: number[] = []
  const pruneChanges: Storage['pruneChanges'] = (position) => {
    pruned.push(position.seq)
    return nodes.storage.pruneChanges(position)
  }
  const storage = withMethods(nodes.storage, { pruneChanges })
  const directory = new Directory(storage, { staleForMs: hour, onProblem: assert.ifError })
  await directory.start()
  const seqs: number[] = []
  for (let minute = 1; minute <= 3; minute++) {
    tick(60_000)
    await directory.refresh()
    seqs.push((await nodes.storage.changesAfter(null)).position.seq)
    await newDomain(nodes.other, nodes.account, `go${minute}.acme.net`)
  }
  // Before the database goes, which the next look would report.
  await directory.close()
  assert.deepEqual(pruned, seqs.slice(0, 2))
})

test('throws database_unavailable until the database has responded once', async (t) => {
  const { storage } = await twoNodes((work) => t.after(work))
  const watched = new Watched(storage)
  watched.isAway = true
  const problems: unknown[] = []
  const directory = new Directory(watched.storage, { staleForMs: hour, onProblem: (error) => problems.push(error) })
  t.after(() => directory.close())
  await directory.refresh()
  assert.equal(problems.length, 0)
  await directory.start()
  assert.equal(problems.length, 1)
  assert.throws(() => directory.domainNamed('go.acme.com'), { code: 'database_unavailable' })
  watched.isAway = false
  await directory.refresh()
  assert.equal(directory.domainNamed('go.acme.com')?.name, 'go.acme.com')
})
