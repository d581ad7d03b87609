/**
 * Three accounts send random requests. No account can see, count, find, change, delete or reference another account's
 * record. The only exception is that a domain's name is taken.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from './app.ts'
import type { Answer, Json, Request } from './client.ts'
import { runs } from './runs.ts'

const app = await startApp()
const accounts = 3
const names = Array.from({ length: 8 }, (_, index) => `n${index}.example`)

const resources = ['domains', 'spaces', 'tags', 'links'] as const
type Resource = (typeof resources)[number]

interface Step {
  readonly verb: 'store' | 'show' | 'update' | 'delete' | 'list' | 'search'
  readonly who: number
  readonly resource: Resource
  /** Chooses one of the names, and one of all records that ever were. */
  readonly name: number
  readonly record: number
  /** Choose the domain, space and tag of a link, or the filters of a list, among all that ever existed, or none. */
  readonly domain: number | null
  readonly space: number | null
  readonly tag: number | null
}

interface Record {
  readonly resource: Resource
  readonly id: number
  readonly owner: number
  /** As it was last answered to its owner; undefined once it is deleted. */
  data: Json | undefined
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom('store', 'store', 'show', 'update', 'delete', 'list', 'search'),
  who: fc.nat({ max: accounts - 1 }),
  resource: fc.constantFrom('domains', 'spaces', 'tags', 'links', 'links'),
  name: fc.nat({ max: names.length - 1 }),
  record: fc.nat({ max: 1_000 }),
  domain: fc.option(fc.nat({ max: 1_000 })),
  space: fc.option(fc.nat({ max: 1_000 })),
  tag: fc.option(fc.nat({ max: 1_000 })),
})

const plain = { name: 0, record: 0, domain: null, space: null, tag: null } as const

/** A model of the records that each account must see. */
class Run {
  readonly #keys: readonly string[]
  readonly #suffix: string
  readonly #records: Record[] = []

  constructor(keys: readonly string[], suffix: string) {
    this.#keys = keys
    this.#suffix = suffix
  }

  async take(step: Step): Promise<void> {
    if (step.verb === 'store') return step.resource === 'links' ? this.#storeLink(step) : this.#store(step)
    if (step.verb === 'list' || step.verb === 'search') return this.#list(step)
    const record = this.#records.at(step.record % Math.max(1, this.#records.length))
    if (record !== undefined) await this.#touch(step, record)
  }

  /** Checks that each account sees exactly its own records. */
  async checkAll(): Promise<void> {
    for (let who = 0; who < accounts; who++) {
      for (const resource of resources) await this.#list({ ...plain, verb: 'list', who, resource })
    }
    for (const record of this.#records) {
      for (let who = 0; who < accounts; who++)
        await this.#touch({ ...plain, verb: 'show', who, resource: record.resource }, record)
    }
  }

  async #store({ who, resource, name }: Step): Promise<void> {
    const wanted = `${names[name]}${this.#suffix}`
    const answer = await this.#send(who, 'POST', `/${resource}`, { form: { name: wanted } })
    const others = resource === 'domains' ? this.#records : this.#own('tags', who)
    const isTaken = others.some((each) => each.resource === resource && each.data?.name === wanted)
    assert.equal(answer.status, isTaken ? 409 : 201)
    if (isTaken) return
    this.#add(resource, who, answer.body.data)
  }

  async #storeLink({ who, name, domain, space, tag }: Step): Promise<void> {
    const [on, within] = [this.#pick('domains', domain), this.#pick('spaces', space)]
    const target = on ?? this.#own('domains', who)[0]
    const alias = `${names[name]}`
    // A link refers to its tags by name, so the name of another account's tag creates one.
    const tags = tag === null ? [] : [`${names[tag % names.length]}${this.#suffix}`]
    const refers = { ...(on && { domain_id: on.id }), ...(within && { space_id: within.id }), tags }
    const answer = await this.#send(who, 'POST', '/links', { json: { url: 'https://acme.com', alias, ...refers } })
    const refused = [
      ...(target === undefined ? [['domain_id', 'required']] : []),
      ...(isOwn(target, who) || target === undefined ? [] : [['domain_id', 'unknown_domain']]),
      ...(isOwn(within, who) || within === undefined ? [] : [['space_id', 'unknown_space']]),
    ]
    if (refused.length > 0) return assertRefused(answer, refused)
    const isTaken = this.#own('links', who).some(({ data }) => data.domain_id === target?.id && data.alias === alias)
    assert.equal(answer.status, isTaken ? 409 : 201, answer.text)
    if (isTaken) return
    this.#add('links', who, answer.body.data)
    assert.deepEqual(answer.body.data.tags, tags)
    if (tags.every((each) => this.#own('tags', who).some(({ data }) => data?.name === each))) return
    const { body } = await this.#send(who, 'GET', `/tags?search=${tags}`)
    assert.equal(body.data.length, 1)
    this.#add('tags', who, body.data[0])
  }

  #add(resource: Resource, owner: number, data: Json): void {
    assert.ok(!this.#records.some((each) => each.resource === resource && each.id === data.id))
    this.#records.push({ resource, id: data.id, owner, data })
  }

  /** Returns one of all records of the resource, including deleted ones. */
  #pick(resource: Resource, place: number | null): Record | undefined {
    const all = this.#records.filter((each) => each.resource === resource)
    return place === null ? undefined : all[place % Math.max(1, all.length)]
  }

  #own(resource: Resource, who: number): Record[] {
    return this.#records.filter((each) => each.resource === resource && isOwn(each, who))
  }

  /** Returns what the owner must see. */
  #expected({ resource, owner, data }: Record): Json {
    if (resource !== 'tags') return data
    return { ...data, links: this.#own('links', owner).filter((link) => link.data?.tags.includes(data?.name)).length }
  }

  async #touch(step: Step, record: Record): Promise<void> {
    const { verb, who } = step
    const path = `/${record.resource}/${record.id}`
    if (verb === 'delete') return this.#remove(who, record, path)
    const { change, refused } = this.#changeOf(step, record)
    const answer =
      verb === 'show' ? await this.#send(who, 'GET', path) : await this.#send(who, 'PATCH', path, { json: change })
    if (!isOwn(record, who)) assertNotFound(answer)
    else if (verb === 'update' && refused.length > 0) assertRefused(answer, refused)
    else {
      assert.equal(answer.status, 200, answer.text)
      const data = this.#expected(record)
      const expected = verb === 'show' ? data : { ...data, ...change, updated_at: answer.body.data.updated_at }
      assert.deepEqual(answer.body.data, expected)
      record.data = answer.body.data
    }
  }

  #changeOf({ who, name, space }: Step, { resource }: Record): { change: Json; refused: string[][] } {
    if (resource === 'domains') return { change: { homepage_url: `https://${names[name]}` }, refused: [] }
    if (resource === 'spaces') return { change: { name: `renamed ${names[name]}` }, refused: [] }
    if (resource === 'tags') return { change: { color: (name % 6) + 1 }, refused: [] }
    const within = this.#pick('spaces', space)
    const isUnknown = within !== undefined && !isOwn(within, who)
    const change = { title: `Title ${names[name]}`, space_id: within?.id ?? null }
    return { change, refused: isUnknown ? [['space_id', 'unknown_space']] : [] }
  }

  async #remove(who: number, record: Record, path: string): Promise<void> {
    const { resource, id, owner } = record
    const answer = await this.#send(who, 'DELETE', path)
    if (!isOwn(record, who)) {
      assertNotFound(answer)
      if (resource === 'domains') assertNotFound(await this.#send(who, 'DELETE', `${path}?links=delete`))
      return
    }
    const links = this.#own('links', owner)
    const { name } = record.data as Json
    const on = resource === 'domains' ? links.filter(({ data }) => data.domain_id === id) : []
    if (on.length > 0) {
      assert.equal(answer.status, 409)
      assert.match(answer.body.message, new RegExp(`has ${on.length} link`))
      assert.equal((await this.#send(who, 'DELETE', `${path}?links=delete`)).status, 204)
    } else assert.equal(answer.status, 204)
    for (const gone of [record, ...on]) gone.data = undefined
    if (resource === 'tags') {
      for (const link of links)
        link.data = { ...link.data, tags: link.data?.tags.filter((each: string) => each !== name) }
    }
    if (resource !== 'spaces') return
    for (const link of links.filter(({ data }) => data.space_id === id)) {
      const { data } = (await this.#send(who, 'GET', `/links/${link.id}`)).body
      assert.deepEqual(data, { ...link.data, space_id: null, updated_at: data.updated_at })
      link.data = data
    }
  }

  async #list({ verb, who, resource, name, domain, space, tag }: Step): Promise<void> {
    const term = `${names[name]}`.toUpperCase()
    const query = new URLSearchParams({ per_page: '100', sort: 'asc', ...(verb === 'search' && { search: term }) })
    const filter: { domain_id?: number; space_id?: number } = {}
    const tagged = resource === 'links' ? this.#pick('tags', tag) : undefined
    if (tagged !== undefined) query.set('tag_id', String(tagged.id))
    if (resource === 'links') {
      const [on, within] = [this.#pick('domains', domain), this.#pick('spaces', space)]
      if (on !== undefined) filter.domain_id = on.id
      if (within !== undefined) filter.space_id = within.id
    }
    for (const [field, id] of Object.entries(filter)) query.set(field, String(id))
    const { body, status } = await this.#send(who, 'GET', `/${resource}?${query}`)
    assert.equal(status, 200)
    const textOf = (data: Json) => [data.name, data.alias, data.title, data.url].join('\n').toUpperCase()
    const expected = this.#own(resource, who)
      .map((record) => this.#expected(record))
      .filter((data) => tagged === undefined || (isOwn(tagged, who) && data.tags.includes(tagged.data?.name)))
      .filter((data) => verb === 'list' || textOf(data).includes(term))
      .filter((data) => Object.entries(filter).every(([field, id]) => data[field] === id))
    assert.deepEqual(body.data, expected)
    assert.equal(body.meta.total, expected.length)
  }

  #send(who: number, method: string, path: string, request: Request = {}): Promise<Answer> {
    return app.send(method, `/api/v1${path}`, { ...request, key: this.#keys[who] as string })
  }
}

function isOwn(record: Record | undefined, who: number): boolean {
  return record?.owner === who && record.data !== undefined
}

/** Checks that the message is the same for other accounts' records and for unknown records. */
function assertRefused({ status, body, text }: Answer, expected: readonly (readonly string[])[]): void {
  assert.equal(status, 422, text)
  assert.deepEqual(
    body.violations.map(({ field, code }: Json) => [field, code]),
    expected,
  )
  for (const { code, message } of body.violations) {
    if (code !== 'required') assert.match(message, /^There is no (domain|space) with the id \d+\.$/)
  }
}

function assertNotFound({ status, body }: Answer): void {
  assert.equal(status, 404)
  assert.equal(body.code, 'not_found')
}

test("no account sees or changes another account's records", async () => {
  let sequence = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
      sequence += 1
      const keys: string[] = []
      for (let who = 0; who < accounts; who++) keys.push(await app.createKey({ account: await app.createAccount() }))
      const run = new Run(keys, `-${sequence}.example`.replace('-', '.r'))
      for (const each of steps) await run.take(each)
      await run.checkAll()
    }),
    { numRuns: runs(40, 10) },
  )
})
