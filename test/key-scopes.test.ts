/** Every operation with keys of every scope. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyScope } from '../src/access/actor.ts'
import { operations } from '../src/app/operations.ts'
import { startApp } from './app.ts'
import { newPlace } from './links-api.ts'
import { operationsByScope } from './operations.ts'

const app = await startApp()
const everyScope = [...Object.keys(operationsByScope).filter((scope) => scope !== 'any'), '*'] as KeyScope[]

/** Every operation and method, with its needed scope. */
const cases = Object.entries(operationsByScope).flatMap(([needed, ids]) =>
  operations
    .filter(({ id }) => ids.includes(id))
    .flatMap(({ method, path }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]).map((each) => [each, path] as const))
    .map(([method, path]) => ({ needed, method, path: `/api/v1${path.replace(/:(address_)?id/g, '99999')}` })),
)

for (const scope of everyScope) {
  test(`403 for exactly the operations that a key with the scope ${scope} doesn't allow`, async () => {
    const key = await app.createKey({ scopes: [scope] })
    for (const { needed, method, path } of cases) {
      const lacking = needed === 'imports:write' && scope === needed ? 'links:write' : needed
      const isForbidden = needed !== 'any' && scope !== '*' && scope !== lacking
      const request = ['GET', 'HEAD', 'DELETE'].includes(method) ? {} : { json: {} }
      const { status, headers, body } = await app.send(method, path, { key, ...request })
      assert.equal(status === 403, isForbidden, `${method} ${path}: ${status}`)
      assert.notEqual(status, 401)
      if (!isForbidden) continue
      const challenge = `Bearer realm="api", error="insufficient_scope", scope="${lacking}"`
      assert.equal(headers['www-authenticate'], challenge)
      if (method === 'HEAD') continue
      assert.deepEqual([body.code, body.message], ['insufficient_scope', `The API key lacks the scope ${lacking}.`])
    }
  })
}

test('undoing by the API needs the write scope of the record', async () => {
  const place = await newPlace(app)
  await place.link({ tags: 'Summer' })
  await place.stored('/spaces', { name: 'Print' })
  for (const kind of ['links', 'spaces', 'tags', 'domains']) {
    const [{ id }] = (await place.send('GET', `/events?record=${kind.slice(0, -1)}`)).body.data
    for (const scope of everyScope) {
      const key = await app.createKey({ account: place.account, scopes: [scope] })
      const { status, headers } = await place.send('POST', `/events/${id}/undo`, { key })
      assert.equal(status === 403, scope !== '*' && scope !== `${kind}:write`, `${scope}: ${kind}`)
      if (status === 403) assert.match(String(headers['www-authenticate']), new RegExp(`scope="${kind}:write"$`))
    }
  }
})
