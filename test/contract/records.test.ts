/** Valid and invalid ids, for all resources and operations on one record. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'

const app = await startApp()
const stranger = await app.createKey({ account: await app.createAccount() })
const store = { domains: { name: 'go.acme.com' }, spaces: { name: 'Marketing' }, links: { url: 'https://acme.com' } }

const noIds = ['0', '01', '-1', '+1', '1.0', '1e0', '0x1', '1%20', '%201', 'abc', '1,', '%D9%A3', '1%00', 'null']
const largeIds = ['2', '9007199254740991', '9007199254740992', '9223372036854775808', '1'.repeat(400)]

for (const resource of ['domains', 'spaces', 'links'] as const) {
  const path = `/api/v1/${resource}`
  const { body } = await app.send('POST', path, { form: store[resource] })
  assert.equal(body.data.id, 1)

  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    test(`404 for ${method} /${resource}/{id} for a malformed or unknown id, or another account's, with the same body`, async () => {
      const others = await app.send(method, `${path}/1`, { key: stranger })
      assert.equal(others.status, 404)
      assert.equal(others.body.code, 'not_found')
      for (const id of [...noIds, ...largeIds]) {
        const { status, body } = await app.send(method, `${path}/${id}`)
        assert.equal(status, 404, id)
        assert.deepEqual({ ...body, request_id: '' }, { ...others.body, request_id: '' }, id)
      }
      assert.equal((await app.send('GET', `${path}/1`)).status, 200)
    })
  }

  test(`404 for /${resource}/ with advice about the slash`, async () => {
    const { status, body } = await app.send('GET', `${path}/`)
    assert.equal(status, 404)
    const what = resource.slice(0, -1)
    assert.equal(body.message, `The path has no id: leave out the slash at its end, or name a ${what}.`)
  })

  test(`404 for HEAD /${resource}/{id} of an unknown record, without a body`, async () => {
    assert.equal((await app.send('HEAD', `${path}/2`)).status, 404)
  })

  test(`404 rather than 422 for PATCH /${resource}/{id} for an unknown record with invalid fields`, async () => {
    assert.equal((await app.send('PATCH', `${path}/2`, { form: { zzz: '1', name: '' } })).status, 404)
    assert.equal((await app.send('PATCH', `${path}/1`, { form: { zzz: '1' }, key: stranger })).status, 404)
  })
}
