/**
 * Three accounts do random things. None ever sees, counts, finds, changes or deletes a record of another; that a domain's
 * name is taken is the only thing that shows.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from './app.ts'
import type { Answer, Json, Request } from './client.ts'

const app = await startApp()
const accounts = 3
const names = Array.from({ length: 8 }, (_, index) => `n${index}.example`)

type Resource = 'domains' | 'spaces'

interface Step {
  readonly verb: 'store' | 'show' | 'update' | 'delete' | 'list' | 'search'
  readonly who: number
  readonly resource: Resource
  /** Chooses one of the names, and one of all records that ever were. */
  readonly name: number
  readonly record: number
}

interface Record {
  readonly resource: Resource
  readonly owner: number
  /** As it was last answered to its owner; undefined once it is deleted. */
  data: Json | undefined
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom('store', 'store', 'show', 'update', 'delete', 'list', 'search'),
  who: fc.nat({ max: accounts - 1 }),
  resource: fc.constantFrom('domains', 'spaces'),
  name: fc.nat({ max: names.length - 1 }),
  record: fc.nat({ max: 1_000 }),
})

/** One run: what each account must see, beside the app that must show it. */
class Run {
  readonly #keys: readonly string[]
  readonly #suffix: string
  readonly #records: Record[] = []

  constructor(keys: readonly string[], suffix: string) {
    this.#keys = keys
    this.#suffix = suffix
  }

  async take(step: Step): Promise<void> {
    if (step.verb === 'store') return this.#store(step)
    if (step.verb === 'list' || step.verb === 'search') return this.#list(step)
    const record = this.#records.at(step.record % Math.max(1, this.#records.length))
    if (record !== undefined) await this.#touch(step, record)
  }

  /** Everybody sees all of their own and nothing else. */
  async checkAll(): Promise<void> {
    for (let who = 0; who < accounts; who++) {
      for (const resource of ['domains', 'spaces'] as const)
        await this.#list({ verb: 'list', who, resource, name: 0, record: 0 })
    }
    for (const record of this.#records) {
      for (let who = 0; who < accounts; who++)
        await this.#touch({ verb: 'show', who, resource: record.resource, name: 0, record: 0 }, record)
    }
  }

  async #store({ who, resource, name }: Step): Promise<void> {
    const wanted = `${names[name]}${this.#suffix}`
    const answer = await this.#send(who, 'POST', `/${resource}`, { form: { name: wanted } })
    const isTaken =
      resource === 'domains' && this.#records.some((each) => each.resource === resource && each.data?.name === wanted)
    assert.equal(answer.status, isTaken ? 409 : 201)
    if (isTaken) return
    const { data } = answer.body
    const ids = this.#records.filter((each) => each.resource === resource).map((each) => each.data?.id)
    assert.ok(!ids.includes(data.id))
    this.#records.push({ resource, owner: who, data })
  }

  async #touch({ verb, who, name }: Step, record: Record): Promise<void> {
    const { resource, owner, data } = record
    const path = `/${resource}/${data?.id ?? this.#deadId(record)}`
    const isOwn = owner === who && data !== undefined
    const change =
      resource === 'domains' ? { homepage_url: `https://${names[name]}` } : { name: `renamed ${names[name]}` }
    const sent = { show: ['GET', {}], update: ['PATCH', { form: change }], delete: ['DELETE', {}] } as const
    const [method, request] = sent[verb as keyof typeof sent]
    const answer = await this.#send(who, method, path, request)
    if (!isOwn) assertNotFound(answer)
    else if (verb === 'delete') this.#bury(record, answer)
    else {
      assert.equal(answer.status, 200)
      const expected = verb === 'show' ? data : { ...data, ...change, updated_at: answer.body.data.updated_at }
      assert.deepEqual(answer.body.data, expected)
      record.data = answer.body.data
    }
  }

  readonly #dead = new Map<Record, number>()

  #deadId(record: Record): number {
    return this.#dead.get(record) ?? 0
  }

  #bury(record: Record, answer: Answer): void {
    assert.equal(answer.status, 204)
    this.#dead.set(record, record.data.id)
    record.data = undefined
  }

  async #list({ verb, who, resource, name }: Step): Promise<void> {
    const term = `${names[name]}`.toUpperCase()
    const query = verb === 'search' ? `&search=${term}` : ''
    const { body, status } = await this.#send(who, 'GET', `/${resource}?per_page=100&sort=asc${query}`)
    assert.equal(status, 200)
    const expected = this.#records
      .filter((each) => each.resource === resource && each.owner === who && each.data !== undefined)
      .map(({ data }) => data)
      .filter((data) => verb === 'list' || data.name.toUpperCase().includes(term))
    assert.deepEqual(body.data, expected)
    assert.equal(body.meta.total, expected.length)
  }

  #send(who: number, method: string, path: string, request: Request = {}): Promise<Answer> {
    return app.send(method, `/api/v1${path}`, { ...request, key: this.#keys[who] as string })
  }
}

function assertNotFound({ status, body }: Answer): void {
  assert.equal(status, 404)
  assert.equal(body.code, 'not_found')
}

test('no account ever sees or moves a record of another', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
      runs += 1
      const keys: string[] = []
      for (let who = 0; who < accounts; who++) keys.push(await app.createKey({ account: await app.createAccount() }))
      const run = new Run(keys, `-${runs}.example`.replace('-', '.r'))
      for (const each of steps) await run.take(each)
      await run.checkAll()
    }),
    { numRuns: 40 },
  )
})
