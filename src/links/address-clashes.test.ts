/** Random changes of addresses against a model of the rule which addresses clash, and what visitors get. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'
import { plainLink } from '../../test/links.ts'
import { newPlace, type Place } from '../../test/links-api.ts'
import { runs } from '../../test/runs.ts'
import { commandActor } from '../access/actor.ts'
import { foldCase } from '../lib/text.ts'
import { addressKey } from '../names/alias.ts'
import type { ServedDomain } from '../redirect/store.ts'
import { query } from '../storage/schema.ts'
import type { Address } from './addresses.ts'
import { runBatch } from './batch.ts'

const app = await startApp()

const spellings = ['sale', 'Sale', 'SALE', 'caf\u00e9', 'CAF\u00c9', 'x']
const alias = fc.constantFrom(...spellings)
const exact = fc.boolean()
const which = fc.nat(30)
const domain = fc.nat(1)
const rows = fc.array(fc.record({ alias, exact, domain }), { minLength: 1, maxLength: 6 })

const step = fc.oneof(
  fc.record({ do: fc.constant('store' as const), alias, exact, domain }),
  fc.record({ do: fc.constant('add' as const), alias, exact, domain, which }),
  fc.record({ do: fc.constant('update' as const), alias, exact, which, keeps: fc.boolean() }),
  fc.record({ do: fc.constant('promote' as const), which, keeps: fc.boolean() }),
  fc.record({ do: fc.constant('move' as const), domain, which, keeps: fc.boolean() }),
  fc.record({ do: fc.constant('bulk' as const), rows }),
  fc.record({ do: fc.constant('import' as const), rows }),
  fc.record({ do: fc.constant('drop' as const), which }),
  fc.record({ do: fc.constant('delete' as const), which }),
  fc.record({ do: fc.constant('undo' as const), which: fc.nat(3) }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

interface Stored extends Address {
  readonly link: number
  /** Null for the main address. */
  readonly id: number | null
}

function clash(one: Address, other: Address): boolean {
  if (one.domain_id !== other.domain_id) return false
  return one.alias === other.alias || (!one.exact && !other.exact && foldCase(one.alias) === foldCase(other.alias))
}

/** Returns all stored addresses of the account. */
async function storedIn({ account }: Place): Promise<Stored[]> {
  const addresses = query
    .selectFrom('addresses')
    .select(['link_id as link', 'id', 'domain_id', 'alias', 'exact', 'main'])
  const own = addresses.where('account_id', '=', account).orderBy('main', 'desc').orderBy('link_id').orderBy('id')
  const rows = await app.storage.execute(own)
  return rows.map(({ main, id, ...row }) => ({ ...row, id: main === 1 ? null : id, exact: row.exact === 1 }))
}

/** Returns the columns of links that are copies of their main addresses, and what the addresses say. */
async function copiesIn({ account }: Place) {
  const own = ['domain_id', 'alias', 'exact', 'legacy'] as const
  const links = query.selectFrom('links').select(['id', 'alias_folded', ...own])
  const main = query
    .selectFrom('addresses')
    .select(['link_id as id', ...own])
    .where('main', '=', 1)
  const copies = await app.storage.execute(links.where('account_id', '=', account).orderBy('id'))
  const rows = await app.storage.execute(main.where('account_id', '=', account).orderBy('link_id'))
  return { copies, mains: rows.map((row) => ({ ...row, alias_folded: addressKey(row.alias, row.exact === 1) })) }
}

/** Returns the link that visitors of an alias get. */
function servedBy(all: readonly Stored[], domain_id: number, name: string): number | null {
  const there = all.filter((each) => each.domain_id === domain_id)
  const found =
    there.find((each) => each.exact && each.alias === name) ??
    there.find((each) => !each.exact && foldCase(each.alias) === foldCase(name))
  return found?.link ?? null
}

/** Applies steps through the API, and compares each result with the model. */
class Run {
  readonly #place: Place
  readonly #domains: readonly Json[]

  constructor(place: Place, domains: readonly Json[]) {
    this.#place = place
    this.#domains = domains
  }

  async apply(taken: Step): Promise<void> {
    const before = await storedIn(this.#place)
    if (taken.do === 'bulk' || taken.do === 'import') {
      await this.#storeMany(taken, before)
      return this.#check(taken)
    }
    const { answer, wanted, own } = await this.#send(taken, before)
    if (answer !== null && wanted !== null) {
      const rivals = before.filter(({ link }) => link !== own)
      const isFree = !wanted.some((each) => rivals.some((other) => clash(each, other)))
      const isOwn = taken.do === 'add' && wanted.some((each) => before.some((other) => clash(each, other)))
      assert.equal(answer.status < 300, isFree && !isOwn, `${JSON.stringify(taken)} ${answer.text}`)
      if (answer.status >= 300) assert.equal(answer.body.code, 'alias_taken', answer.text)
    }
    if (answer !== null) assert.ok([200, 201, 204, 409].includes(answer.status), answer.text)
    await this.#check(taken)
  }

  async #send(taken: Exclude<Step, { do: 'bulk' | 'import' }>, before: readonly Stored[]) {
    const links = before.filter(({ id }) => id === null)
    const main = 'which' in taken ? links[taken.which % (links.length || 1)] : undefined
    const { send } = this.#place
    const result = (answer: Answer | null, wanted: readonly Address[] | null = null, own: number | null = null) => ({
      answer,
      wanted,
      own,
    })
    const domain_id = 'domain' in taken ? (this.#domains[taken.domain]?.id ?? 0) : 0
    if (taken.do === 'store') {
      const address = { alias: taken.alias, exact: taken.exact, domain_id }
      const json = { ...address, url: 'https://acme.com' }
      return result(await send('POST', '/links', { json }), [address])
    }
    if (taken.do === 'undo') {
      const { body } = await send('GET', '/events?record=link')
      const event = body.data[taken.which]
      return result(event === undefined ? null : await send('POST', `/events/${event.id}/undo`))
    }
    if (main === undefined) return result(null)
    const path = `/links/${main.link}`
    switch (taken.do) {
      case 'add': {
        const address = { alias: taken.alias, exact: taken.exact, domain_id }
        return result(await send('POST', `${path}/addresses`, { json: address }), [address])
      }
      case 'update': {
        const json = { alias: taken.alias, exact: taken.exact, keep_address: taken.keeps }
        const address = { alias: taken.alias, exact: taken.exact, domain_id: main.domain_id }
        return result(await send('PATCH', path, { json }), [address], main.link)
      }
      case 'promote':
        return this.#promote(main, taken.keeps, before)
      case 'move':
        await this.#move(main, domain_id, taken.keeps, before)
        return result(null)
      case 'drop': {
        const further = before.filter(({ link, id }) => link === main.link && id !== null)
        const gone = further[taken.which % (further.length || 1)]
        return result(gone === undefined ? null : await send('DELETE', `${path}/addresses/${gone.id}`))
      }
      case 'delete':
        return result(await send('DELETE', path))
    }
  }

  /** Makes a further address the main one. */
  async #promote(main: Stored, keeps: boolean, before: readonly Stored[]) {
    const further = before.filter(({ link, id }) => link === main.link && id !== null)
    // The API takes no alias of an import that the rule rejects.
    const promoted = further.find((each) => each.domain_id === main.domain_id && !each.alias.startsWith(' '))
    if (promoted === undefined) return { answer: null, wanted: null, own: null }
    const json = { alias: promoted.alias, keep_address: keeps }
    const answer = await this.#place.send('PATCH', `/links/${main.link}`, { json })
    return { answer, wanted: [promoted], own: main.link }
  }

  /** Stores links in one batch, or links with further addresses, as an import does. The first of clashing rows wins. */
  async #storeMany({ do: how, rows }: Extract<Step, { do: 'bulk' | 'import' }>, before: readonly Stored[]) {
    const wanted = rows.map((row) => ({ ...row, domain_id: this.#domains[row.domain]?.id ?? 0 }))
    const taken: Address[] = [...before]
    const isFree = (addresses: readonly Address[]) => {
      const all = addresses.every(
        (each, at) => ![...taken, ...addresses.slice(0, at)].some((other) => clash(each, other)),
      )
      if (all) taken.push(...addresses)
      return all
    }
    if (how === 'bulk') {
      const links = wanted.map(({ domain: _, ...address }) => ({ ...address, url: 'https://acme.com' }))
      const { body, text } = await this.#place.send('POST', '/links/bulk', { json: { links } })
      const expected = wanted.map((each) => (isFree([each]) ? 201 : 409))
      assert.deepEqual(
        body.data?.map(({ status }: Json) => status),
        expected,
        text,
      )
      return
    }
    const [main, ...further] = wanted as [(typeof wanted)[0], ...typeof wanted]
    const alias = ` ${main.alias}`
    const row = { ...plainLink, domain_id: main.domain_id, alias, exact: main.exact, legacy: true }
    const actor = commandActor(this.#place.account, 'Test')
    const change = { kind: 'store', rows: [{ ...row, further, isImported: true }] } as const
    const request = { actor, change, isAtomic: false, claim: null, hasResults: false }
    const { applied } = await runBatch(app.storage, request, app.actions.links.rules)
    await app.actions.links.onApplied(applied)
    for (const { id } of applied) for (const each of further) app.actions.links.onStored({ ...each, id })
    assert.equal(applied.length === 1, isFree([{ ...main, alias }, ...further]))
  }

  /** Moves a link to a domain, as the dashboard does. */
  async #move(main: Stored, domain_id: number, keepsAddresses: boolean, before: readonly Stored[]): Promise<void> {
    const change = { kind: 'update', ids: [main.link], values: { domain_id, keep_address: keepsAddresses } } as const
    const request = {
      actor: commandActor(this.#place.account, 'Test'),
      change,
      isAtomic: false,
      claim: null,
      hasResults: false,
    }
    const { applied } = await runBatch(app.storage, request, app.actions.links.rules)
    await app.actions.links.onApplied(applied)
    const rivals = before.filter(({ link }) => link !== main.link)
    assert.equal(applied.length === 1, !rivals.some((other) => clash({ ...main, domain_id }, other)))
  }

  /** Compares the stored addresses and all redirects with the rule. */
  async #check(taken: Step): Promise<void> {
    const all = await storedIn(this.#place)
    for (const [at, one] of all.entries()) {
      for (const other of all.slice(at + 1)) assert.ok(!clash(one, other), JSON.stringify({ taken, one, other }))
    }
    const { copies, mains } = await copiesIn(this.#place)
    assert.deepEqual(copies, mains, JSON.stringify(taken))
    assert.ok(
      all.every(({ link }) => mains.some(({ id }) => id === link)),
      'an address without its link',
    )
    for (const { id, name } of this.#domains) {
      const served = app.directory.domainNamed(name) as ServedDomain
      for (const each of spellings) {
        const link = await app.directory.findLink(served, each)
        assert.equal(link?.id ?? null, servedBy(all, id, each), JSON.stringify({ taken, name, each, all }))
      }
    }
  }
}

test('addresses never clash, links have copies of their main ones, a clash is the only reason for 409, and visitors get what the rule says immediately', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const place = await newPlace(app)
      const other = await place.stored('/domains', { name: `other.${place.domain.name}` })
      const run = new Run(place, [place.domain, other])
      for (const each of steps) await run.apply(each)
    }),
    { numRuns: runs(200, 25) },
  )
})
