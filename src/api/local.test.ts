/** The operations of the API in this process. */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { commandActor } from '../access/actor.ts'
import { domainOperations } from '../domains/operations.ts'
import { Failure, notFound } from '../errors.ts'
import { send, sendJson, sendParts } from '../http/response.ts'
import { LocalApi } from './local.ts'
import { readId } from './operations.ts'

const { show, store, list, delete: remove } = domainOperations

/** Creates an API for the account 7. */
const newApi = () => new LocalApi(commandActor(7, 'ana'), () => 'https://links.example.com')

test('calls the handler with the actor, the path, and the fields of the query or the body', async () => {
  const api = newApi()
  api.add(show, async (exchange) =>
    sendJson(exchange, 200, JSON.stringify([readId(exchange, 'domain'), exchange.target])),
  )
  api.add(store, async (exchange, { actor, fields }) =>
    sendJson(exchange, 201, JSON.stringify([actor.account, actor.kind, fields, exchange.query, exchange.host])),
  )
  api.add(list, async (exchange) => sendJson(exchange, 200, JSON.stringify(exchange.query)))
  const shown = await api.send(show, { params: { id: '3' } })
  assert.deepEqual([shown.status, await text(shown.body)], [200, '[3,"/api/v1/domains/3"]'])
  const fields = { name: 'go.acme.com' }
  const stored = await api.send(store, { fields })
  assert.deepEqual([stored.status, JSON.parse(await text(stored.body))], [201, [7, 'command', fields, {}, '']])
  assert.deepEqual(JSON.parse(await text((await api.send(list, { fields: { search: 'a' } })).body)), { search: 'a' })
})

test('all requests are one batch, and have no rate limit', async () => {
  const api = newApi()
  const batches = new Set<string>()
  api.add(remove, async (exchange, { actor }) => {
    batches.add(actor.batchId)
    assert.equal(api.countRows(), undefined)
    return send(exchange, 204)
  })
  for (const id of ['1', '2']) assert.equal((await api.send(remove, { params: { id } })).status, 204)
  assert.equal(batches.size, 1)
})

test('throws a returned and a thrown failure, and the error of a file that ends early', async () => {
  const api = newApi()
  api.add(show, async () => notFound('domain'))
  api.add(remove, () => {
    throw new Failure('domain_in_use', 'The domain has links.')
  })
  api.add(list, (exchange) =>
    sendParts(
      exchange,
      (async function* () {
        yield 'first'
        throw new Error('lost')
      })(),
    ),
  )
  await assert.rejects(api.send(show, { params: { id: '3' } }), { code: 'not_found' })
  await assert.rejects(api.send(remove, { params: { id: '3' } }), { code: 'domain_in_use' })
  const { status, body } = await api.send(list, {})
  assert.equal(status, 200)
  await assert.rejects(text(body), { message: 'lost' })
  await assert.rejects(api.send(store, {}), { message: 'Only servers have the operation storeDomain.' })
})

test('a file waits for its reader', async () => {
  const api = newApi()
  const part = 'x'.repeat(10_000)
  let written = 0
  api.add(list, (exchange) =>
    sendParts(
      exchange,
      (async function* () {
        for (; written < 100; written += 1) yield part
      })(),
    ),
  )
  const { body } = await api.send(list, {})
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(written < 20, String(written))
  assert.equal((await text(body)).length, 100 * part.length)
})
