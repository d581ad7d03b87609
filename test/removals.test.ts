/** Removals of domains and spaces with links, which are invisible immediately and finish in batches. */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, test } from 'node:test'
import { systemActor } from '../src/access/actor.ts'
import { databaseUnavailable } from '../src/errors.ts'
import { detachBatchSize } from '../src/events/removal.ts'
import type { Db, Storage } from '../src/storage/port.ts'
import { actionsOn } from './actions.ts'
import { startApp } from './app.ts'
import type { Answer, Json } from './client.ts'
import { withMethods } from './failing-storage.ts'
import { insertLink, plainLink } from './links.ts'
import { assertRefused, fresh, linksOn, newPlace, outOfAccount, type Place } from './links-api.ts'
import { eventually } from './processes.ts'
import { runs } from './runs.ts'

/** The number of removals during which links are stored. */
const rounds = runs(5, 2)

/** The number of links in each batch of a removal, and a function that runs before the next batch. */
let batches: number[] = []
let before: () => Promise<void> | undefined = () => undefined

/** Returns storage that records batches, and can pause removals before they start. */
function watched(real: Storage): Storage {
  const isStart = /from "events".* action in \('deleted', 'merged'\)/
  const isBatch = /^(?:select "id", "account_id" from|update) "links".* limit \?/
  const watching =
    (db: Db, awaited: RegExp): Db['execute'] =>
    async (query) => {
      const { sql } = query.compile()
      if (awaited.test(sql)) await before()
      const rows = await db.execute(query)
      if (isBatch.test(sql) && rows.length > 0) batches.push(rows.length)
      return rows
    }
  const write: Storage['write'] = (work, isolation) =>
    real.write((tx) => work({ ...tx, execute: watching(tx, isBatch) }), isolation)
  return withMethods(real, { execute: watching(real, isStart), write })
}

const app = await startApp({ storage: watched })

/** Stores many links in one transaction. */
async function fill({ account, domain }: Place, count: number, space_id: number | null = null): Promise<void> {
  await app.storage.write(async (tx) => {
    const { id, name } = domain
    for (let n = 0; n < count; n++)
      await insertLink(tx, systemActor(account), { id, name }, { ...plainLink, space_id, alias: `n${n}` })
  })
}

async function countOn(domain: Json): Promise<number> {
  const [row] = await app.storage.execute(linksOn({ id: domain.id }))
  return Number(row?.count)
}

/** Pauses removals until `go` is called. `held` resolves once one waits. */
function hold() {
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>()
  const { promise: freed, resolve: go } = Promise.withResolvers<void>()
  before = () => {
    isHeld()
    return freed
  }
  return {
    held,
    go: () => {
      before = () => undefined
      go()
    },
  }
}

describe('DELETE /domains/{id} of a domain with links', () => {
  test('returns 409 domain_in_use with their number, and deletes nothing', async () => {
    const own = await newPlace(app)
    const { id } = own.domain
    const first = await own.link()
    const one = await own.send('DELETE', `/domains/${id}`)
    assert.deepEqual([one.status, one.body.code], [409, 'domain_in_use'])
    assert.match(one.body.message, /has 1 link\. Delete it first, or send \?links=delete/)
    await fill(own, 120)
    const many = await own.send('DELETE', `/domains/${id}?links=`)
    assert.deepEqual([many.status, many.body.violations[0].code], [409, 'in_use'])
    assert.match(many.body.message, /has 121 links/)
    assert.deepEqual((await own.send('GET', `/domains/${id}`)).body.data, own.domain)
    assert.deepEqual((await own.send('GET', `/links/${first.id}`)).body.data, first)
    assert.equal(await countOn(own.domain), 121)
  })

  test('returns 204 without links, with and without ?links=delete', async () => {
    for (const query of ['', '?links=delete']) {
      const own = await newPlace(app)
      const { id } = await own.link()
      await own.send('DELETE', `/links/${id}`)
      assert.equal((await own.send('DELETE', `/domains/${own.domain.id}${query}`)).status, 204)
      assert.equal((await own.send('DELETE', `/domains/${own.domain.id}${query}`)).status, 404)
    }
  })

  test('returns 422 for other values and parameters, but 404 and 412 first', async () => {
    const own = await newPlace(app)
    const path = `/domains/${own.domain.id}`
    for (const query of ['links=keep', 'links=DELETE', 'links=1'])
      assertRefused(await own.send('DELETE', `${path}?${query}`), ['links', 'not_allowed'])
    assertRefused(await own.send('DELETE', `${path}?links=delete&links=delete`), ['links', 'not_single'])
    assertRefused(await own.send('DELETE', `${path}?link=delete`), ['link', 'unknown_field'])
    assert.equal((await own.send('DELETE', '/domains/999999?links=keep')).status, 404)
    const headers = { 'if-match': '"x"' }
    assert.equal((await own.send('DELETE', `${path}?links=keep`, { headers })).status, 412)
  })

  test('returns 412 with links=delete for another version, and 204 for the current one', async () => {
    const own = await newPlace(app)
    await own.link()
    const path = `/domains/${own.domain.id}`
    const etag = String((await own.send('GET', path)).headers.etag)
    await own.send('PATCH', path, { form: { homepage_url: 'https://acme.com' } })
    const remove = (tag: string) => own.send('DELETE', `${path}?links=delete`, { headers: { 'if-match': tag } })
    const failed = await remove(etag)
    assert.equal(failed.status, 412)
    assert.equal(await countOn(own.domain), 1)
    assert.equal((await remove(String(failed.headers.etag))).status, 204)
    assert.equal(await countOn(own.domain), 0)
  })

  test('returns 204 after deleting all links in small batches', async (t) => {
    const own = await newPlace(app)
    const count = 300
    await fill(own, count)
    const kept = await newPlace(app)
    await kept.link()
    batches = []
    const delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    assert.equal((await own.send('DELETE', `/domains/${own.domain.id}?links=delete`)).status, 204)
    // After 5 s, the response is sent, and the deletion continues.
    await eventually(async () => (await countOn(own.domain)) === 0)
    delays.disable()
    t.diagnostic(`the loop was held for ${Math.round(delays.max / 1e5) / 10} ms at most`)
    assert.ok(batches.length >= count / detachBatchSize)
    assert.ok(batches.every((taken) => taken <= detachBatchSize))
    assert.equal(
      batches.reduce((sum, taken) => sum + taken, 0),
      count,
    )
    const { data, meta } = (await own.send('GET', '/links')).body
    assert.deepEqual([data, meta.total], [[], 0])
    assert.equal(await countOn(kept.domain), 1)
  })

  test('hides the domain and its links, and frees its name, immediately', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Stays' })
    await fill(own, 150, space.id)
    const other = await own.stored('/domains', { name: `${fresh('other')}.example` })
    const last = await own.link({ domain_id: other.id, alias: 'stays' })
    const [doomed] = (await own.send('GET', `/links?domain_id=${own.domain.id}`)).body.data
    const { held, go } = hold()
    const removed = own.send('DELETE', `/domains/${own.domain.id}?links=delete`)
    await held
    assert.equal(await countOn(own.domain), 150)
    for (const path of [`/domains/${own.domain.id}`, `/links/${doomed.id}`]) {
      for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
        assert.equal((await own.send(method, path)).status, 404, `${method} ${path}`)
      }
    }
    const named = (await own.send('GET', '/domains')).body
    assert.deepEqual([named.data, named.meta.total], [[other], 1])
    const onIt = { url: 'https://acme.com', domain_id: own.domain.id }
    assertRefused(await own.send('POST', '/links', { json: onIt }), ['domain_id', 'unknown_domain'])
    assert.equal((await own.link()).domain_id, other.id)
    for (const query of ['', '&after=1', '&status=active&after=1', `&space_id=${space.id}&after=1`]) {
      const { data, links } = (await own.send('GET', `/links?sort=asc${query}`)).body
      assert.ok(data.every(({ domain_id }: Json) => domain_id === other.id))
      if (query === '&after=1') assert.deepEqual([data[0], data.length, links.next], [last, 2, null])
    }
    const renewed = await (await newPlace(app)).stored('/domains', { name: own.domain.name })
    assert.ok(renewed.id > own.domain.id)
    const [out, ...others] = await app.storage.execute(outOfAccount.domains())
    assert.deepEqual([out?.id, out?.name, others], [own.domain.id, `${own.domain.name}/${own.domain.id}`, []])
    go()
    assert.equal((await removed).status, 204)
    assert.equal(await countOn(own.domain), 0)
    assert.deepEqual(await app.storage.execute(outOfAccount.domains()), [])
    assert.equal((await own.send('GET', '/links')).body.meta.total, 2)
  })

  test('returns 503 if the database fails, hides the domain, and deletes its links later', async () => {
    const own = await newPlace(app)
    await fill(own, 200)
    batches = []
    before = () => (batches.length === 2 ? Promise.reject(databaseUnavailable(new Error('cut'))) : undefined)
    const { status } = await own.send('DELETE', `/domains/${own.domain.id}?links=delete`)
    before = () => undefined
    assert.equal(status, 503)
    assert.equal((await own.send('GET', `/domains/${own.domain.id}`)).status, 404)
    assert.equal(await countOn(own.domain), 200 - 2 * detachBatchSize)
    assert.ok(app.logs.some(({ msg }) => msg === 'job interrupted; will continue'))
    await actionsOn(app.storage).jobs.run({ record: 'domain', record_id: own.domain.id })
    assert.equal(await countOn(own.domain), 0)
    assert.deepEqual(await app.storage.execute(outOfAccount.domains()), [])
  })

  test('keeps the clicks until its start for the return of the links', async () => {
    const own = await newPlace(app)
    const link = await own.link()
    const visits = 20
    for (let visit = 0; visit < visits; visit++) assert.equal((await app.visit(link.short_url)).status, 302)
    assert.equal((await own.send('DELETE', `/domains/${own.domain.id}?links=delete`)).status, 204)
    const { data } = (await own.send('GET', `/events?record=domain&record_id=${own.domain.id}`)).body
    assert.equal((await own.send('POST', `/events/${data[0].id}/undo`)).status, 200)
    assert.equal((await own.send('GET', `/links/${link.id}`)).body.data.clicks, visits)
  })

  test('leaves no links that are stored during the removal', async () => {
    for (let round = 0; round < rounds; round++) {
      const own = await newPlace(app)
      await fill(own, 100)
      const json = { url: 'https://acme.com', domain_id: own.domain.id }
      const store = () => own.send('POST', '/links', { json })
      const early = Array.from({ length: 15 }, store)
      const removed = own.send('DELETE', `/domains/${own.domain.id}?links=delete`)
      const answers = await Promise.all([...early, ...Array.from({ length: 30 }, store)])
      for (const answer of answers) {
        if (answer.status !== 201) assertRefused(answer, ['domain_id', 'unknown_domain'])
      }
      assert.equal((await removed).status, 204)
      assert.equal(await countOn(own.domain), 0)
      assert.equal((await own.send('GET', '/links')).body.meta.total, 0)
    }
  })
})

describe('visits during a deletion', () => {
  const deletions: Readonly<Record<string, (own: Place, links: readonly Json[]) => Promise<Answer[]>>> = {
    'of many links': async ({ send }, links) => [
      await send('POST', '/links/bulk/delete', { json: { ids: links.map(({ id }) => id) } }),
    ],
    'of single links': ({ send }, links) => Promise.all(links.map(({ id }) => send('DELETE', `/links/${id}`))),
    'of their domain': async ({ send, domain }) => [await send('DELETE', `/domains/${domain.id}?links=delete`)],
  }
  for (const [name, remove] of Object.entries(deletions)) {
    test(`${name} are counted once it is undone`, async () => {
      const own = await newPlace(app)
      await fill(own, 30)
      const links: Json[] = (await own.send('GET', '/links?per_page=100')).body.data
      const followed = new Map<number, number>()
      let isEnding = false
      const visit = async (link: Json) => {
        const { status } = await app.visit(link.short_url)
        if (status === 302) followed.set(link.id, (followed.get(link.id) ?? 0) + 1)
      }
      const visiting = Array.from({ length: 3 }, async (_, first) => {
        for (let at = first; !isEnding; at += 1) await visit(links[at % links.length])
      })
      await eventually(async () => followed.size > 15)
      for (const { status } of await remove(own, links)) assert.ok(status < 300)
      const { data } = (await own.send('GET', '/events?type=link.deleted&per_page=100')).body
      const batches = new Set(data.map(({ batch_id }: Json) => batch_id))
      for (const batch_id of batches) {
        const { status, body } = await own.send('POST', '/events/undo', { json: { batch_id } })
        assert.deepEqual([status, body.meta.failed, body.meta.remaining], [200, 0, 0])
      }
      isEnding = true
      await Promise.all(visiting)
      await eventually(async () => {
        const { body } = await own.send('GET', '/links?per_page=100')
        return body.data.every(({ id, clicks }: Json) => clicks === (followed.get(id) ?? 0))
      })
    })
  }
})

describe('DELETE /spaces/{id} of a space with links', () => {
  test('returns 204, and keeps its links without a space in a new version', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Goes' })
    const other = await own.stored('/spaces', { name: 'Stays' })
    const count = 200
    await fill(own, count, space.id)
    const stays = await own.link({ space_id: other.id })
    const old = await own.send('GET', `/links?space_id=${space.id}`)
    const [record] = old.body.data
    const { etag } = (await own.send('GET', `/links/${record.id}`)).headers
    batches = []
    assert.equal((await own.send('DELETE', `/spaces/${space.id}`)).status, 204)
    assert.equal((await own.send('DELETE', `/spaces/${space.id}`)).status, 404)
    assert.ok(batches.length >= count / detachBatchSize && batches.every((taken) => taken <= detachBatchSize))
    const shown = await own.send('GET', `/links/${record.id}`, { headers: { 'if-none-match': String(etag) } })
    assert.equal(shown.status, 200)
    const { updated_at } = shown.body.data
    assert.deepEqual(shown.body.data, { ...record, space_id: null, updated_at })
    assert.ok(updated_at > record.updated_at)
    const conditional = { form: { title: 'x' }, headers: { 'if-match': String(etag) } }
    assert.equal((await own.send('PATCH', `/links/${record.id}`, conditional)).status, 412)
    assert.equal((await own.send('GET', '/links?space_id=0')).body.meta.total, count)
    assert.deepEqual((await own.send('GET', `/links?space_id=${other.id}`)).body.data, [stays])
  })

  test('hides the space immediately, for its links too', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Goes' })
    await fill(own, 100, space.id)
    const [record] = (await own.send('GET', '/links')).body.data
    const { held, go } = hold()
    const removed = own.send('DELETE', `/spaces/${space.id}`)
    await held
    assert.equal((await own.send('GET', `/spaces/${space.id}`)).status, 404)
    assert.equal((await own.send('GET', '/spaces')).body.meta.total, 0)
    assert.equal((await own.send('GET', `/links/${record.id}`)).body.data.space_id, null)
    assert.ok((await own.send('GET', '/links')).body.data.every(({ space_id }: Json) => space_id === null))
    const json = { url: 'https://acme.com', space_id: space.id }
    assertRefused(await own.send('POST', '/links', { json }), ['space_id', 'unknown_space'])
    assertRefused(await own.send('PATCH', `/links/${record.id}`, { json }), ['space_id', 'unknown_space'])
    go()
    assert.equal((await removed).status, 204)
    assert.deepEqual(await app.storage.execute(outOfAccount.spaces()), [])
  })

  test('leaves no link that is added during the removal in the space', async () => {
    for (let round = 0; round < rounds; round++) {
      const own = await newPlace(app)
      const space = await own.stored('/spaces', { name: 'Goes' })
      await fill(own, 60, space.id)
      const free = await own.link()
      const json = { url: 'https://acme.com', space_id: space.id }
      const put = (n: number) =>
        n % 2 ? own.send('POST', '/links', { json }) : own.send('PATCH', `/links/${free.id}`, { json })
      const early = Array.from({ length: 10 }, (_, n) => put(n))
      const removed = own.send('DELETE', `/spaces/${space.id}`)
      const answers = await Promise.all([...early, ...Array.from({ length: 20 }, (_, n) => put(n))])
      for (const answer of answers) {
        if (answer.status > 201) assertRefused(answer, ['space_id', 'unknown_space'])
      }
      assert.equal((await removed).status, 204)
      const { total } = (await own.send('GET', '/links')).body.meta
      assert.equal((await own.send('GET', '/links?space_id=0')).body.meta.total, total)
    }
  })
})
