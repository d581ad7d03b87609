/**
 * Three accounts take turns with random requests. No account can see, count, find, change, delete or reference another
 * account's record. The only exception is that a domain's name is taken.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from './app.ts'
import { type Answer, assertProblem, type Json } from './client.ts'
import { runs } from './runs.ts'

const app = await startApp()
const accounts = [0, 1, 2]
const resources = ['domains', 'spaces', 'tags', 'links'] as const
type Resource = (typeof resources)[number]

interface Step {
  readonly verb: 'store' | 'show' | 'update' | 'delete' | 'list'
  readonly resource: Resource
  readonly name: string
  /** Chooses one of all records that ever existed. */
  readonly record: number
  /** Choose the domain, space and tag of a link or a list among all that ever existed, or none. */
  readonly domain: number | null
  readonly space: number | null
  readonly tag: number | null
}

const place = fc.nat({ max: 1_000 })
const placeOrNone = fc.option(place, { freq: 1 })
const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom('store', 'store', 'store', 'store', 'show', 'update', 'delete', 'list', 'list'),
  resource: fc.constantFrom('domains', 'spaces', 'tags', 'links', 'links'),
  name: fc.constantFrom('n0', 'n1', 'n2', 'n3', 'n4'),
  record: place,
  domain: placeOrNone,
  space: placeOrNone,
  tag: placeOrNone,
})
const turn = fc.record({
  who: fc.constantFrom(...accounts),
  steps: fc.array(step, { minLength: 6, maxLength: 14, size: 'max' }),
})

/** The number of requests that named another account's record, and of stored records. */
const counts = { foreign: 0, stored: 0 }

class Run {
  readonly #keys: readonly string[]
  /** Makes domain names unique. */
  readonly #suffix: string
  /** The owners of all ids that a response had. */
  readonly #owners = {
    domains: new Map<number, number>(),
    spaces: new Map<number, number>(),
    tags: new Map<number, number>(),
    links: new Map<number, number>(),
  }

  constructor(keys: readonly string[], suffix: string) {
    this.#keys = keys
    this.#suffix = suffix
  }

  /** Takes the steps of an account. They must not change what the others see. */
  async take({ who, steps }: { readonly who: number; readonly steps: readonly Step[] }): Promise<void> {
    const before = await this.#seenByOthers(who)
    for (const each of steps) await this.#step(who, each)
    assert.deepEqual(await this.#seenByOthers(who), before)
  }

  async #seenByOthers(who: number): Promise<Json[]> {
    const others = accounts.filter((other) => other !== who)
    return Promise.all(others.flatMap((other) => resources.map((resource) => this.#list(other, resource))))
  }

  #step(who: number, wanted: Step): Promise<unknown> {
    const { verb, resource, name, domain, space, tag } = wanted
    if (verb === 'store') return this.#store(who, wanted)
    if (verb !== 'list') return this.#touch(who, wanted)
    const filters = resource === 'links' && {
      domain_id: this.#pick('domains', domain),
      space_id: this.#pick('spaces', space),
      tag_id: this.#pick('tags', tag),
    }
    return this.#list(who, resource, { search: name, ...filters })
  }

  /** Returns a list after checking that it and its total have only the account's own records. */
  async #list(who: number, resource: Resource, filters: Json = {}): Promise<Json[]> {
    const given = Object.entries<string>(filters).filter(([, value]) => value !== undefined)
    const query = new URLSearchParams({ per_page: '100', sort: 'asc', ...Object.fromEntries(given) })
    const { status, body, text } = await this.#send(who, 'GET', `/${resource}?${query}`)
    assert.equal(status, 200, text)
    assert.equal(body.meta.total, body.data.length)
    for (const data of body.data) this.#checkOwn(who, resource, data)
    return body.data
  }

  async #store(who: number, { resource, name, domain, space }: Step): Promise<void> {
    const ids = { domain_id: this.#pick('domains', domain), space_id: this.#pick('spaces', space) }
    const rules = [{ name, url: `https://acme.com/${name}` }]
    const link = { url: 'https://acme.com', alias: name, rules, tags: [name], ...ids }
    const json: Json = resource === 'links' ? link : { name: `${name}${this.#suffix}` }
    const answer = await this.#send(who, 'POST', `/${resource}`, json)
    if (resource === 'links' && this.#refused(who, ids, answer)) return
    if (answer.status === 201) {
      counts.stored += 1
      this.#checkOwn(who, resource, answer.body.data)
    } else if (answer.status === 409 && resource !== 'domains') {
      const key = resource === 'links' ? 'alias' : 'name'
      assert.ok((await this.#list(who, resource)).some((each) => each[key] === json[key]))
    }
  }

  async #touch(who: number, { verb, resource, name, record, space }: Step): Promise<void> {
    const id = this.#pick(resource, record)
    if (id === undefined) return
    const changes = {
      domains: { homepage_url: `https://${name}.example` },
      spaces: { name },
      tags: { color: 1 + (record % 6) },
      links: { title: name, rules: [{ name, url: 'https://acme.com' }], space_id: this.#pick('spaces', space) },
    }
    const method = { show: 'GET', update: 'PATCH', delete: 'DELETE' }[verb as 'show']
    const path = `/${resource}/${id}${resource === 'domains' && verb === 'delete' ? '?links=delete' : ''}`
    const answer = await this.#send(who, method, path, verb === 'update' ? changes[resource] : undefined)
    if (this.#isForeign(who, resource, id)) assertProblem(answer, 404, 'not_found')
    else if (answer.status === 200) this.#checkOwn(who, resource, answer.body.data)
    else if (answer.status !== 404 && verb === 'update' && resource === 'links') {
      this.#refused(who, { space_id: changes.links.space_id }, answer)
    }
    if (resource === 'links') await this.#addAddress(who, id, this.#pick('domains', record))
  }

  /** Adds an address on any domain to any link, and checks the addresses of own links. */
  async #addAddress(who: number, link: number, domain_id: number | undefined): Promise<void> {
    const path = `/links/${link}/addresses`
    const answer = await this.#send(who, 'POST', path, { domain_id })
    const list = await this.#send(who, 'GET', path)
    if (this.#isForeign(who, 'links', link)) {
      assertProblem(answer, 404, 'not_found')
      assertProblem(list, 404, 'not_found')
    } else if (answer.status !== 404 && !this.#refused(who, { domain_id }, answer)) {
      for (const { domain_id: id } of list.body.data) this.#checkOwn(who, 'domains', { id })
    }
  }

  /** Returns whether one of the ids is another account's, after checking that the response is the same as for an unknown id. */
  #refused(who: number, ids: Record<string, number | undefined>, answer: Answer): boolean {
    const foreign = Object.entries(ids).filter(
      ([field, id]) => id !== undefined && this.#isForeign(who, field === 'space_id' ? 'spaces' : 'domains', id),
    )
    for (const [field, id] of foreign) {
      assert.equal(answer.status, 422, answer.text)
      const { code, message } = answer.body.violations.find((each: Json) => each.field === field)
      const noun = field.replace('_id', '')
      assert.deepEqual([code, message], [`unknown_${noun}`, `There is no ${noun} with the id ${id}.`])
    }
    return foreign.length > 0
  }

  /** Records who sees the record and its domain and space. Throws if another account has seen them. */
  #checkOwn(who: number, resource: Resource, { id, domain_id, space_id }: Json): void {
    const seen: [Resource, number | undefined][] = [
      [resource, id],
      ['domains', domain_id],
      ['spaces', space_id],
    ]
    for (const [name, each] of seen) {
      if (typeof each !== 'number') continue
      if (!this.#owners[name].has(each)) this.#owners[name].set(each, who)
      assert.equal(this.#owners[name].get(each), who, `${name} ${each}`)
    }
  }

  #isForeign(who: number, resource: Resource, id: number): boolean {
    const isForeign = this.#owners[resource].get(id) !== who
    if (isForeign) counts.foreign += 1
    return isForeign
  }

  /** Returns the id of one of all records of the resource, including deleted ones. */
  #pick(resource: Resource, index: number | null): number | undefined {
    const ids = [...this.#owners[resource].keys()]
    return index === null ? undefined : ids[index % Math.max(1, ids.length)]
  }

  #send(who: number, method: string, path: string, json?: Json): Promise<Answer> {
    return app.send(method, `/api/v1${path}`, { key: this.#keys[who] as string, ...(json && { json }) })
  }
}

test("no account sees or changes another account's records", async () => {
  let sequence = 0
  const turns = fc.array(turn, { minLength: 4, maxLength: 12, size: 'max' })
  const property = fc.asyncProperty(turns, async (each) => {
    sequence += 1
    const keys = await Promise.all(accounts.map(async () => app.createKey({ account: await app.createAccount() })))
    const run = new Run(keys, `.r${sequence}.example`)
    for (const one of each) await run.take(one)
  })
  await fc.assert(property, { numRuns: runs(40, 10) })
  assert.ok(counts.foreign > 5 * sequence && counts.stored > 10 * sequence, JSON.stringify(counts))
})
