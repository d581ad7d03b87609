/** Undo of events and batches. The tests of each resource show what returns. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'
import { assertRefused, newPlace, type Place } from '../../test/links-api.ts'
import { query } from '../storage/schema.ts'

const app = await startApp()

/** Returns the account's latest event. */
async function latest({ send }: Place): Promise<Json> {
  return (await send('GET', '/events')).body.data[0]
}

const told = ({ status, body }: Answer) => [status, body?.code]

describe('POST /events/{id}/undo', () => {
  test('200 with the record for an update, whose undo can be undone, and no change for a repetition', async () => {
    const own = await newPlace(app)
    const link = await own.link({ title: 'Old' })
    await own.send('PATCH', `/links/${link.id}`, { json: { title: 'New' } })
    const update = await latest(own)
    const undone = await own.send('POST', `/events/${update.id}/undo`)
    assert.deepEqual([undone.status, undone.body.data.title], [200, 'Old'])
    assert.equal(undone.headers.etag, (await own.send('GET', `/links/${link.id}`)).headers.etag)
    const undo = await latest(own)
    assert.deepEqual([undo.type, undo.changes], ['link.updated', { title: ['New', 'Old'] }])
    assert.equal((await own.send('GET', `/events/${update.id}`)).body.data.undone_by, undo.id)

    const again = await own.send('POST', `/events/${update.id}/undo`)
    assert.deepEqual([again.status, again.body], [200, undone.body])
    assert.equal((await latest(own)).id, undo.id)
    assert.equal((await own.send('POST', `/events/${undo.id}/undo`)).body.data.title, 'New')
  })

  test('204 for a creation, and 200 with the record of each kind for its deletion', async () => {
    const own = await newPlace(app)
    for (const [path, fields] of [
      ['/links', { url: 'https://acme.com' }],
      ['/spaces', { name: 'Sales' }],
      ['/tags', { name: 'Print' }],
      ['/domains', { name: `undo-${own.account}.example` }],
    ] as const) {
      const record = await own.stored(path, fields)
      const created = await latest(own)
      const { status, text } = await own.send('POST', `/events/${created.id}/undo`)
      assert.deepEqual([status, text], [204, ''], path)
      assert.equal((await own.send('GET', `${path}/${record.id}`)).status, 404)
      const deletion = (await own.send('GET', `/events/${created.id}`)).body.data.undone_by
      const restored = await own.send('POST', `/events/${deletion}/undo`)
      assert.deepEqual([restored.status, restored.body.data.id], [200, record.id], restored.text)
      assert.equal((await own.send('GET', `${path}/${record.id}`)).status, 200)
      // The event is undone already, and the record is there.
      assert.equal((await own.send('POST', `/events/${created.id}/undo`)).status, 200)
    }
  })

  test('409 not_undoable for a field that has changed since, and for changes that are final', async () => {
    const own = await newPlace(app)
    const link = await own.link()
    const creation = await latest(own)
    await own.send('PATCH', `/links/${link.id}`, { json: { title: 'A' } })
    const update = await latest(own)
    await own.send('PATCH', `/links/${link.id}`, { json: { title: 'B' } })
    for (const event of [update, creation]) {
      const answer = await own.send('POST', `/events/${event.id}/undo`)
      assert.deepEqual(told(answer), [409, 'not_undoable'])
      assert.match(answer.body.message, /^The field title of the link has been changed again since\.$/)
    }
    const [tag, into] = [await own.stored('/tags', { name: 'A' }), await own.stored('/tags', { name: 'B' })]
    await own.send('POST', `/tags/${tag.id}/merge`, { json: { into: into.id } })
    const key = (await own.send('GET', '/events?record=key')).body.data[0]
    const [merge] = (await own.send('GET', '/events?type=tag.merged')).body.data
    for (const { id } of [merge, key]) {
      assert.deepEqual(told(await own.send('POST', `/events/${id}/undo`)), [409, 'not_undoable'])
    }
  })

  test('409 for a taken alias or name, and if a needed record is gone', async () => {
    const own = await newPlace(app)
    const link = await own.link({ alias: 'sale' })
    const tag = await own.stored('/tags', { name: 'Print' })
    for (const path of [`/links/${link.id}`, `/tags/${tag.id}`]) await own.send('DELETE', path)
    const [untagged, deleted] = (await own.send('GET', '/events')).body.data
    const taking = await own.link({ alias: 'SALE' })
    await own.stored('/tags', { name: 'print' })
    const undo = async ({ id }: Json) => own.send('POST', `/events/${id}/undo`)
    assert.deepEqual(told(await undo(deleted)), [409, 'alias_taken'])
    assert.deepEqual(told(await undo(untagged)), [409, 'name_taken'])
    await own.send('DELETE', `/links/${taking.id}?permanently=true`)
    await own.send('DELETE', `/domains/${own.domain.id}`)
    const answer = await undo(deleted)
    assert.deepEqual(told(answer), [409, 'not_undoable'])
    assert.match(answer.body.message, new RegExp(own.domain.name))
  })

  test('a space or tag returns to its links, for a key that can write nothing else', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Sales' })
    const { id, tags } = await own.link({ space_id: space.id, tags: ['Print'] })
    const [tag] = (await own.send('GET', '/tags')).body.data
    const key = await app.createKey({ account: own.account, scopes: ['spaces:write', 'tags:write', 'events:read'] })
    for (const path of [`/spaces/${space.id}`, `/tags/${tag.id}`]) {
      assert.equal((await own.send('DELETE', path, { key })).status, 204)
    }
    const { data } = (await own.send('GET', '/events?per_page=10')).body
    for (const { id } of data.filter(({ type }: Json) => ['space.deleted', 'tag.deleted'].includes(type))) {
      assert.equal((await own.send('POST', `/events/${id}/undo`, { key })).status, 200)
    }
    const link = (await own.send('GET', `/links/${id}`)).body.data
    assert.deepEqual([link.space_id, link.tags], [space.id, tags])
  })

  test('412 for If-Match, because an event has no version', async () => {
    const own = await newPlace(app)
    const { id } = await latest(own)
    for (const path of [`/events/${id}/undo`, '/events/undo']) {
      const answer = await own.send('POST', path, { headers: { 'if-match': '*' } })
      assert.deepEqual(told(answer), [412, 'precondition_failed'])
    }
    assert.equal((await own.send('GET', `/domains/${own.domain.id}`)).status, 200)
  })
})

describe('POST /events/undo', () => {
  test('409 in the row of a link that has got its lost tag back since, and nothing that remains', async () => {
    const own = await newPlace(app)
    const { id } = await own.stored('/tags', { name: 'Print' })
    const [kept, lost] = [await own.link({ tags: ['Print'] }), await own.link({ tags: ['Print'] })]
    await own.send('DELETE', `/tags/${id}`)
    const { batch_id } = await latest(own)
    await own.send('PATCH', `/links/${kept.id}`, { json: { tags: ['print'] } })
    const { body } = await own.send('POST', '/events/undo', { json: { batch_id } })
    const codes = body.data.map(({ code = null }: Json) => code)
    assert.deepEqual(codes, ['name_taken', null, 'not_undoable'])
    assert.deepEqual(body.meta, { succeeded: 1, failed: 2, remaining: 0 })
    assert.deepEqual((await own.send('GET', `/links/${lost.id}`)).body.data.tags, ['print'])
  })

  test('200 with a row for each event, newest first, of which some can fail', async () => {
    const own = await newPlace(app)
    const links = [{ url: 'https://acme.com/1' }, { url: 'https://acme.com/2' }, { url: 'https://acme.com/3' }]
    await own.send('POST', '/links/bulk', { json: { links } })
    const { batch_id } = await latest(own)
    const events = (await own.send('GET', `/events?batch_id=${batch_id}&record=link`)).body.data
    await own.send('PATCH', `/links/${events[1].record_id}`, { json: { title: 'Changed' } })
    const { status, body } = await own.send('POST', '/events/undo', { json: { batch_id } })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      data: [
        { index: 0, id: events[0].id, status: 204 },
        {
          index: 1,
          id: events[1].id,
          status: 409,
          code: 'not_undoable',
          message: 'The field title of the link has been changed again since.',
        },
        { index: 2, id: events[2].id, status: 204 },
      ],
      meta: { succeeded: 2, failed: 1, remaining: 0 },
    })
    assert.equal((await own.send('GET', '/links')).body.meta.total, 1)
    // The reversals are a batch, too.
    const { batch_id: reversal } = await latest(own)
    const again = await own.send('POST', '/events/undo', { form: { batch_id: reversal } })
    assert.deepEqual(again.body.meta, { succeeded: 2, failed: 0, remaining: 0 })
    assert.equal((await own.send('GET', '/links')).body.meta.total, 3)
  })

  test('403 in the rows without the write scope, and 1,000 events at most', async () => {
    const own = await newPlace(app)
    const links = Array.from({ length: 998 }, () => ({ url: 'https://acme.com', tags: ['a', 'b', 'c', 'd'] }))
    await own.send('POST', '/links/bulk', { json: { links } })
    const { batch_id } = await latest(own)
    const key = await app.createKey({ account: own.account, scopes: ['links:write'] })
    const first = await own.send('POST', '/events/undo', { key, json: { batch_id } })
    assert.equal(first.body.data.length, 1_000)
    assert.deepEqual(first.body.meta, { succeeded: 998, failed: 2, remaining: 2 })
    const failed = first.body.data.filter(({ status }: Json) => status === 403)
    assert.deepEqual(
      failed.map(({ code }: Json) => code),
      ['insufficient_scope', 'insufficient_scope'],
    )
    // Another key may do the rest.
    const second = await own.send('POST', '/events/undo', { json: { batch_id } })
    assert.deepEqual(second.body.meta, { succeeded: 4, failed: 0, remaining: 0 })
    const totals = [await own.send('GET', '/links?archived=any'), await own.send('GET', '/tags')]
    assert.deepEqual(
      totals.map(({ body }) => body.meta.total),
      [0, 0],
    )
  })

  test('200 with a row for each of the event_ids, newest first, and 404 for events of another account', async () => {
    const [own, other] = [await newPlace(app), await newPlace(app)]
    const link = await own.link({ title: 'Old' })
    const titles = ['New', 'Newer']
    for (const title of titles) await own.send('PATCH', `/links/${link.id}`, { json: { title } })
    const space = await own.stored('/spaces', { name: 'Sales' })
    await own.send('PATCH', `/links/${link.id}`, { json: { space_id: space.id } })
    await own.send('DELETE', `/spaces/${space.id}`)
    const mine = (await own.send('GET', '/events?sort=asc')).body.data
    const of = (type: string) => mine.filter((event: Json) => event.type === type).map(({ id }: Json) => id)
    const [first, second] = of('link.updated')
    const [deleted] = of('space.deleted')
    const foreign = (await latest(other)).id
    const ids = [foreign, first, second, deleted, first]
    const { status, body } = await own.send('POST', '/events/undo', { json: { event_ids: ids } })
    assert.equal(status, 200)
    assert.deepEqual(
      body.data.toSorted((a: Json, b: Json) => a.id - b.id),
      [
        { index: 3, id: foreign, status: 404, code: 'not_found', message: 'There is no such event.' },
        { index: 2, id: first, status: 200 },
        { index: 1, id: second, status: 200 },
        { index: 0, id: deleted, status: 200 },
      ],
    )
    assert.deepEqual(body.meta, { succeeded: 3, failed: 1, remaining: 0 })
    const { title, space_id } = (await own.send('GET', `/links/${link.id}`)).body.data
    assert.deepEqual([title, space_id], ['Old', space.id])
    const again = await own.send('POST', '/events/undo', { form: { event_ids: `${first},${second}` } })
    assert.deepEqual(again.body.meta, { succeeded: 2, failed: 0, remaining: 0 })
    assert.equal((await own.send('GET', `/links/${link.id}`)).body.data.title, 'Old')
  })

  test('reverses event_ids newest first, even if batches overlap, and many events in few transactions', async () => {
    const own = await newPlace(app)
    const [x, y] = [await own.link({ title: '0' }), await own.link({ title: '0' })]
    const change = (link: Json, title: string) => own.send('PATCH', `/links/${link.id}`, { json: { title } })
    for (const [link, title] of [
      [x, '1'],
      [x, '2'],
      [y, '1'],
    ] as const)
      await change(link, title)
    const events = (await own.send('GET', '/events?type=link.updated')).body.data
    const [last, , first] = events.map(({ id }: Json) => id)
    // An import may take minutes, and others change its links meanwhile.
    const { batch_id } = events[0]
    await app.storage.execute(query.updateTable('events').set({ batch_id }).where('id', 'in', [first, last]))
    const json = { event_ids: events.map(({ id }: Json) => id) }
    const { body } = await own.send('POST', '/events/undo', { json })
    assert.deepEqual(body.meta, { succeeded: 3, failed: 0, remaining: 0 })
    assert.equal((await own.send('GET', `/links/${x.id}`)).body.data.title, '0')
    const reversed = (await own.send('GET', `/events?type=link.updated&sort=asc&after=${last}`)).body.data
    assert.equal(reversed.length, 3)
  })

  test('409 and 403 in the rows of events that can’t be undone', async () => {
    const own = await newPlace(app)
    const link = await own.link()
    await own.stored('/spaces', { name: 'Sales' })
    await own.send('PATCH', `/links/${link.id}`, { json: { title: 'A' } })
    const event_ids = (await own.send('GET', '/events')).body.data.map(({ id }: Json) => id)
    const key = await app.createKey({ account: own.account, scopes: ['links:write'] })
    const { body } = await own.send('POST', '/events/undo', { key, json: { event_ids } })
    const codes = body.data.map(({ status, code = null }: Json) => [status, code])
    assert.deepEqual(codes.slice(0, 3), [
      [200, null],
      [403, 'insufficient_scope'],
      [204, null],
    ])
    assert.ok(
      codes.slice(3).every(([status]: Json) => status === 403 || status === 409),
      JSON.stringify(codes),
    )
  })

  test('422 for bad event_ids', async () => {
    const own = await newPlace(app)
    const { batch_id, id } = await latest(own)
    for (const [json, field, code] of [
      [{ batch_id, event_ids: [id] }, 'event_ids', 'not_allowed'],
      [{ event_ids: [] }, 'event_ids', 'required'],
      [{ event_ids: ['x'] }, 'event_ids', 'out_of_range'],
      [{ event_ids: Array.from({ length: 1_001 }, (_, at) => at + 1) }, 'event_ids', 'too_many'],
    ] as const) {
      assertRefused(await own.send('POST', '/events/undo', { json }), [field, code])
    }
  })

  test('422 for an unknown, foreign or missing batch, and for an unknown field', async () => {
    const [own, other] = [await newPlace(app), await newPlace(app)]
    const { batch_id } = await latest(other)
    for (const unknown of [batch_id, 'unknown', 'x'.repeat(64)]) {
      assertRefused(await own.send('POST', '/events/undo', { json: { batch_id: unknown } }), [
        'batch_id',
        'not_allowed',
      ])
    }
    assertRefused(await own.send('POST', '/events/undo', { json: {} }), ['batch_id', 'required'])
    const json = { batch_id: (await latest(own)).batch_id, permanently: true }
    assertRefused(await own.send('POST', '/events/undo', { json }), ['permanently', 'unknown_field'])
    assert.equal((await other.send('GET', `/domains/${other.domain.id}`)).status, 200)
  })
})
