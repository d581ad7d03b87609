/** Events of addresses and their undo, and what a domain takes along. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { addressesIn, destination } from '../../test/link-addresses.ts'
import { fresh, newPlace } from '../../test/links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const { send, stored } = place
const { link, addressesOf, add, update, visit, furtherOf } = addressesIn(app, place)

describe('a domain with further addresses', () => {
  const undo = async (type: string, id: number) => {
    const { body } = await send('GET', `/events?type=${type}&record=${type.split('.')[0]}&record_id=${id}`)
    return send('POST', `/events/${body.data[0].id}/undo`)
  }

  test('409 `domain_in_use`; `links=delete` deletes them and keeps links on other domains; an undo returns both', async () => {
    const domain = await stored('/domains', { name: `${fresh('leaving')}.example` })
    const [staying, leaving] = [await link({ url: 'https://acme.com/stays' }), await link({ domain_id: domain.id })]
    const addresses = [await add(staying, { domain_id: domain.id }), await add(staying, { domain_id: domain.id })]
    const kept = await add(staying, { alias: fresh('kept') })
    const ofLeaving = await add(leaving, { domain_id: place.domain.id })
    const refused = await send('DELETE', `/domains/${domain.id}`)
    assert.deepEqual([refused.status, refused.body.code], [409, 'domain_in_use'])
    assert.match(refused.body.message, /^The domain has 1 link and 2 further addresses of links\. Delete them first/)
    const { headers } = await send('GET', `/links/${staying.id}`)
    assert.equal((await send('DELETE', `/domains/${domain.id}?links=delete`)).status, 204)
    assert.deepEqual(await furtherOf(staying), [kept.alias])
    assert.equal((await send('GET', `/links/${staying.id}`)).headers.etag, headers.etag)
    assert.equal((await send('GET', `/links/${leaving.id}`)).status, 404)
    assert.equal(await visit(ofLeaving.alias), 404)
    const [event] = (await send('GET', `/events?record=link&record_id=${staying.id}`)).body.data
    assert.equal(event.type, 'link.updated')
    assert.deepEqual(
      event.changes.addresses.map((list: Json[]) => list.map(({ id }) => id)),
      [[...addresses.map(({ id }) => id), kept.id], [kept.id]],
    )
    // Another address that was added since does not prevent the return.
    const later = await add(staying)
    assert.equal((await undo('domain.deleted', domain.id)).status, 200)
    const back = [...addresses, kept, later].map(({ alias }) => alias)
    assert.deepEqual(await furtherOf(staying), back)
    for (const { alias } of addresses) assert.equal(await visit(alias, domain), 'https://acme.com/stays')
    assert.equal(await visit(ofLeaving.alias), destination)
  })

  test('409 `domain_in_use` for a single further address', async () => {
    const domain = await stored('/domains', { name: `${fresh('alone')}.example` })
    const to = await link()
    const { id } = await add(to, { domain_id: domain.id })
    const { body } = await send('DELETE', `/domains/${domain.id}`)
    assert.match(body.message, /^The domain has 1 further address of a link\. Delete it first/)
    await send('DELETE', `${addressesOf(to)}/${id}`)
    assert.equal((await send('DELETE', `/domains/${domain.id}`)).status, 204)
  })
})

describe('the history of addresses', () => {
  /** Undoes the newest event of a link. */
  const undoLast = async ({ id }: Json) => {
    const [event] = (await send('GET', `/events?record=link&record_id=${id}`)).body.data
    return send('POST', `/events/${event.id}/undo`)
  }
  const stateOf = async (of: Json) => [
    (await send('GET', `/links/${of.id}`)).body.data.alias,
    (await send('GET', `${addressesOf(of)}?sort=asc`)).body.data.map(({ id, alias, exact }: Json) => [
      id,
      alias,
      exact,
    ]),
  ]

  test('storing and deleting an address can be undone, and so can the undo', async () => {
    const to = await link()
    const before = await stateOf(to)
    await add(to, { alias: fresh('Undone'), exact: true })
    const added = await stateOf(to)
    await undoLast(to)
    assert.deepEqual(await stateOf(to), before)
    await undoLast(to)
    assert.deepEqual(await stateOf(to), added)
    await send('DELETE', `${addressesOf(to)}/${added[1][0][0]}`)
    await undoLast(to)
    assert.deepEqual(await stateOf(to), added)
    assert.equal(await visit(added[1][0][1]), destination)
  })

  test('a kept address and a promotion can be undone and done again', async () => {
    const to = await link({ alias: fresh('one') })
    const states = [await stateOf(to)]
    await update(to, { alias: fresh('two'), keep_address: true })
    states.push(await stateOf(to))
    await update(to, { alias: to.alias })
    states.push(await stateOf(to))
    const events = (await send('GET', `/events?record=link&record_id=${to.id}`)).body.data
    for (const [at, { id }] of events.slice(0, 2).entries()) {
      assert.equal((await send('POST', `/events/${id}/undo`)).status, 200)
      assert.deepEqual(await stateOf(to), states[1 - at])
    }
    for (const state of [1, 2]) {
      const undoing = (await send('GET', `/events?record=link&record_id=${to.id}`)).body.data
      const open = undoing.find(({ undone_by, id }: Json) => undone_by === null && id > events[0].id)
      assert.equal((await send('POST', `/events/${open.id}/undo`)).status, 200, String(state))
    }
    assert.deepEqual(await stateOf(to), states[2])
  })

  test('409 if the address is taken by now, or was deleted since', async () => {
    const [one, two] = [await link(), await link()]
    const { id, alias } = await add(one)
    await send('DELETE', `${addressesOf(one)}/${id}`)
    await add(two, { alias })
    const refused = await undoLast(one)
    assert.deepEqual([refused.status, refused.body.code], [409, 'alias_taken'])
    const events = (await send('GET', `/events?record=link&record_id=${one.id}`)).body.data
    const changed = await send('POST', `/events/${events[1].id}/undo`)
    assert.deepEqual([changed.status, changed.body.code], [409, 'not_undoable'])
  })

  test('a deleted link returns with its addresses and their clicks, unless one is taken', async () => {
    const [one, two] = [await link(), await link()]
    await add(one, { alias: fresh('Back'), exact: true })
    const before = await stateOf(one)
    await send('DELETE', `/links/${one.id}`)
    assert.equal(await visit(before[1][0][1]), 404)
    await undoLast(one)
    assert.deepEqual(await stateOf(one), before)
    await send('DELETE', `/links/${one.id}`)
    await add(two, { alias: before[1][0][1] })
    assert.equal((await undoLast(one)).body.code, 'alias_taken')
  })
})
