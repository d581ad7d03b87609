/** The list of events, and the show. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { keyActor, storeEvents } from '../../test/events.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'
import { systemActor } from '../access/actor.ts'
import { updateAccount } from '../accounts/store.ts'
import { query } from '../storage/schema.ts'

const app = await startApp()

/** Deletes events of other tests, such as key events. */
const deletion = (account: number) => query.deleteFrom('events').where('account_id', '=', account)

/** Creates an account without events. `list` returns the record ids of the events that a query finds. */
async function newHistory() {
  const { account, key, send } = await newPlace(app)
  await app.storage.execute(deletion(account))
  const list = async (parameters: Json = {}) => {
    const { status, body, text } = await send('GET', `/events?${new URLSearchParams({ sort: 'asc', ...parameters })}`)
    assert.equal(status, 200, text)
    return body.data.map(({ record_id }: Json) => record_id)
  }
  return { account, key, send, list, store: storeEvents.bind(null, app.storage) }
}

describe('GET /events', () => {
  test('returns the records, newest first, with each link’s short URL and any other record’s name', async () => {
    const { account, send, store } = await newHistory()
    const by = keyActor(account)
    await store(by, {}, { record: 'tag', action: 'created', id: 4, name: 'a/b', changes: { name: [null, 'a/b'] } })
    const { body, headers } = await send('GET', '/events')
    const [tag, link] = body.data
    assert.deepEqual(link, {
      id: link.id,
      type: 'link.updated',
      record: 'link',
      record_id: 1,
      record_name: 'http://go.acme.com:3080/summer',
      actor: { kind: 'key', id: 7, name: 'ci' },
      request_id: 'request-7',
      batch_id: by.batchId,
      changes: { title: ['Old', 'New'] },
      undoable_until: new Date(Date.parse(link.created_at) + 30 * 86_400_000).toISOString(),
      undone_by: null,
      created_at: link.created_at,
    })
    assert.ok(tag.id > link.id)
    assert.deepEqual([tag.type, tag.record_name, tag.batch_id], ['tag.created', 'a/b', by.batchId])
    assert.equal(body.meta.total, 2)
    const known = { headers: { 'if-none-match': String(headers.etag) } }
    assert.equal((await send('GET', '/events', known)).status, 304)
  })

  test('shows no time for the undo of events that never can be undone', async () => {
    const { account, send, store } = await newHistory()
    const never = [
      { record: 'key', action: 'revoked' },
      { record: 'account', action: 'updated' },
      { record: 'tag', action: 'merged' },
      { record: 'link', action: 'clicks_deleted' },
      { action: 'deleted', changes: null },
    ] as const
    await store(keyActor(account), ...never)
    const { body } = await send('GET', '/events')
    assert.deepEqual(
      body.data.map(({ undoable_until }: Json) => undoable_until),
      never.map(() => null),
    )
    assert.equal(body.data[0].changes, null)
  })

  test('shows no later time for the undo than the one at which the event is deleted', async () => {
    const short = await startApp({ historyDays: 7 })
    const { send } = await newPlace(short)
    const { undoable_until, created_at } = (await send('GET', '/events?type=domain.created')).body.data[0]
    assert.equal(Date.parse(undoable_until) - Date.parse(created_at), 7 * 86_400_000)
  })

  test('combines all filters', async () => {
    const { account, list, store } = await newHistory()
    const [first, second] = [keyActor(account, 7), keyActor(account, 8)]
    await store(first, { id: 1, action: 'created' }, { id: 2 }, { id: 1, record: 'tag' })
    await store(second, { id: 3 }, { id: 1, record: 'tag', action: 'merged' })
    await store(systemActor(account), { id: 2, action: 'deleted' })
    for (const [parameters, ids] of [
      [{}, [1, 2, 1, 3, 1, 2]],
      [{ type: 'link.updated' }, [2, 3]],
      [{ type: 'tag.merged', record: 'tag' }, [1]],
      [{ type: 'tag.merged', record: 'link' }, []],
      [{ type: 'account.updated' }, []],
      [{ record: 'tag' }, [1, 1]],
      [{ record: 'link', record_id: 1 }, [1]],
      [{ record: 'link', record_id: 9 }, []],
      [{ actor: 'key' }, [1, 2, 1, 3, 1]],
      [{ actor: 'key', actor_id: 8 }, [3, 1]],
      [{ actor: 'system' }, [2]],
      [{ actor: 'member' }, []],
      [{ batch_id: first.batchId }, [1, 2, 1]],
      [{ batch_id: `${first.batchId}-` }, []],
      [{ batch_id: second.batchId, record: 'tag', record_id: 1, type: 'tag.merged', actor: 'key', actor_id: 8 }, [1]],
      [{ record: 'link', record_id: 2, sort: 'desc', per_page: 10, page: 2 }, []],
    ] as const) {
      assert.deepEqual(await list(parameters), ids, JSON.stringify(parameters))
    }
  })

  test('takes dates in the time zone of the account', async (t) => {
    const { account, list, store, send } = await newHistory()
    await updateAccount(app.storage, keyActor(account), { name: 'Acme', time_zone: 'Asia/Tokyo' }, 0)
    await app.storage.execute(deletion(account))
    t.mock.timers.enable({ apis: ['Date'] })
    const times = ['2026-11-20T14:59:59.999Z', '2026-11-20T15:00:00.000Z', '2026-11-21T14:59:59.999Z']
    for (const [at, time] of times.entries()) {
      t.mock.timers.setTime(Date.parse(time))
      await store(keyActor(account), { id: at + 1 })
    }
    t.mock.timers.reset()
    for (const [parameters, ids] of [
      [{ from: '2026-11-21' }, [2, 3]],
      [{ to: '2026-11-20' }, [1]],
      [{ from: '2026-11-20', to: '2026-11-20' }, [1]],
      [{ from: '2026-11-21', to: '2026-11-21', record: 'link' }, [2, 3]],
      [{ from: '2026-11-22' }, []],
      [{ from: '1970-01-01', to: '9999-12-31' }, [1, 2, 3]],
    ] as const) {
      assert.deepEqual(await list(parameters), ids, JSON.stringify(parameters))
    }
    assertRefused(await send('GET', '/events?from=2026-11-21&to=2026-11-20'), ['to', 'before_from'])
  })

  test('422 for a filter without its companion, and for invalid and unknown parameters', async () => {
    const { send } = await newHistory()
    for (const [parameters, ...expected] of [
      ['record_id=1', ['record', 'required']],
      ['actor_id=1', ['actor', 'required']],
      ['record_id=1&actor_id=1', ['record', 'required'], ['actor', 'required']],
      ['record=links', ['record', 'not_allowed']],
      ['type=link', ['type', 'not_allowed']],
      ['actor=ci', ['actor', 'not_allowed']],
      ['record=link&record_id=0', ['record_id', 'out_of_range']],
      ['from=2026-02-30', ['from', 'invalid_date']],
      ['batch_id=%00', ['batch_id', 'control_characters']],
      [`batch_id=${'a'.repeat(65)}`, ['batch_id', 'too_long']],
      ['sort_by=created_at', ['sort_by', 'not_allowed']],
      ['per_page=20', ['per_page', 'not_allowed']],
      ['after=1&page=2', ['after', 'not_allowed']],
      ['search=a', ['search', 'unknown_field']],
    ] as const) {
      assertRefused(await send('GET', `/events?${parameters}`), ...expected)
    }
  })

  test('returns each event once to a client that follows links.next', async () => {
    const { account, send, store } = await newHistory()
    await store(keyActor(account), ...Array.from({ length: 23 }, (_, at) => ({ id: at + 1 })))
    for (const sort of ['asc', 'desc'] as const) {
      const seen: number[] = []
      for (
        let path: string | null = `/events?sort=${sort}&record=link&after=${sort === 'asc' ? 1 : 2 ** 53 - 1}`;
        path;
      ) {
        const { body }: Json = await send('GET', path)
        seen.push(...body.data.map(({ record_id }: Json) => record_id))
        path = body.links.next && String(body.links.next).replace(/^.*\/api\/v1/, '')
      }
      const all = Array.from({ length: 23 }, (_, at) => at + 1)
      assert.deepEqual(seen, sort === 'asc' ? all : all.reverse())
    }
  })

  test('continues after the last known event in both orders, and returns later events to a client at the end', async () => {
    const { account, send, store } = await newHistory()
    const by = keyActor(account)
    await store(by, { id: 1 }, { id: 2 }, { id: 3 })
    const [first, , last] = (await send('GET', '/events?sort=asc')).body.data
    const after = async (id: number, sort: string) => {
      const { body } = await send('GET', `/events?sort=${sort}&after=${id}`)
      return { ids: body.data.map(({ record_id }: Json) => record_id), links: body.links, meta: body.meta }
    }
    assert.deepEqual((await after(first.id, 'asc')).ids, [2, 3])
    assert.deepEqual((await after(last.id, 'desc')).ids, [2, 1])
    assert.deepEqual((await after(first.id, 'desc')).ids, [])
    const { ids, links, meta } = await after(last.id, 'asc')
    assert.deepEqual([ids, links.prev, links.next, links.last], [[], null, null, null])
    assert.deepEqual([meta.current_page, meta.last_page, meta.from, meta.to], Array(4).fill(null))
    assert.doesNotMatch(links.first, /after/)
    await store(by, { id: 4 })
    assert.deepEqual((await after(last.id, 'asc')).ids, [4])
  })
})

describe('GET /events/export', () => {
  test('csv: has the record’s fields in order, oldest first, with the filters of the list', async () => {
    const own = await newPlace(app)
    const link = await own.link({ title: '=1' })
    await own.send('PATCH', `/links/${link.id}`, { json: { title: 'A, "B"' } })
    const { status, headers, text } = await own.send('GET', '/events/export?record=link')
    const day = new Date().toISOString().slice(0, 10)
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
    assert.equal(headers['content-disposition'], `attachment; filename="waymark-events-${day}.csv"`)
    const events = (await own.send('GET', '/events?record=link&sort=asc')).body.data
    const [head, ...rows] = text.trimEnd().split('\r\n')
    assert.equal(head, Object.keys(events[0]).join(','))
    assert.equal(rows.length, 2)
    for (const [at, row] of rows.entries()) {
      const { id, type, actor, changes } = events[at]
      assert.ok(row.startsWith(`${id},${type},link,${link.id},`), row)
      for (const json of [actor, changes]) assert.ok(row.includes(JSON.stringify(json).replaceAll('"', '""')), row)
    }
  })

  test('jsonl: has the records of the list from many batches, and none of another account', async () => {
    const [own, other] = [await newPlace(app), await newPlace(app)]
    await other.link()
    const links = Array.from({ length: 230 }, () => ({ url: 'https://acme.com' }))
    await own.send('POST', '/links/bulk', { json: { links } })
    const { text, headers } = await own.send('GET', '/events/export?format=jsonl&type=link.created')
    assert.equal(headers['content-type'], 'application/x-ndjson')
    const events = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(events.length, 230)
    const shown = (await own.send('GET', '/events?type=link.created&sort=asc&per_page=10')).body.data
    assert.deepEqual(events.slice(0, 10), shown)
  })

  test('422 for a filter without its companion and for parameters of pages', async () => {
    const own = await newPlace(app)
    for (const [query, field, code] of [
      ['record_id=1', 'record', 'required'],
      ['actor_id=1', 'actor', 'required'],
      ['from=2026-02-02&to=2026-02-01', 'to', 'before_from'],
      ['page=2', 'page', 'unknown_field'],
    ] as const) {
      assertRefused(await own.send('GET', `/events/export?${query}`), [field, code])
    }
  })
})

describe('GET /events/{id}', () => {
  test('returns the record of the list with an ETag, and 404 for other ids', async () => {
    const { account, send, store } = await newHistory()
    await store(keyActor(account), {})
    const [listed] = (await send('GET', '/events')).body.data
    const { status, body, headers } = await send('GET', `/events/${listed.id}`)
    assert.deepEqual([status, body], [200, { data: listed }])
    const again = await send('GET', `/events/${listed.id}`, { headers: { 'if-none-match': String(headers.etag) } })
    assert.equal(again.status, 304)
    for (const id of [listed.id + 1_000, 0, '01', 'x', 2 ** 53]) {
      assert.equal((await send('GET', `/events/${id}`)).status, 404, String(id))
    }
  })
})
