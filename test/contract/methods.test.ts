/** Methods, and the headers that every answer has. */
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'

const app = await startApp()
for (const resource of ['domains', 'spaces']) {
  assert.equal((await app.send('POST', `/api/v1/${resource}`, { form: { name: 'go.acme.com' } })).body.data.id, 1)
}
assert.equal((await app.send('POST', '/api/v1/links', { form: { url: 'https://acme.com' } })).body.data.id, 1)

const allowed: Readonly<Record<string, readonly string[]>> = {
  '/api/v1/domains': ['GET', 'HEAD', 'POST', 'OPTIONS'],
  '/api/v1/domains/1': ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  '/api/v1/spaces': ['GET', 'HEAD', 'POST', 'OPTIONS'],
  '/api/v1/spaces/1': ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  '/api/v1/links': ['GET', 'HEAD', 'POST', 'OPTIONS'],
  '/api/v1/links/1': ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  '/api/v1/stats': ['GET', 'HEAD', 'OPTIONS'],
  '/health': ['GET', 'HEAD', 'OPTIONS'],
  '/problems/not_found': ['GET', 'HEAD', 'OPTIONS'],
}
const listed = (allow: unknown) => String(allow).split(', ').sort()

for (const [path, methods] of Object.entries(allowed)) {
  describe(path, () => {
    test('204 for OPTIONS with Allow, without a key', async () => {
      for (const key of [app.key, null]) {
        const { status, headers } = await app.send('OPTIONS', path, { key })
        assert.equal(status, 204)
        assert.deepEqual(listed(headers.allow), methods.toSorted())
      }
    })

    for (const method of METHODS.filter((each) => each !== 'CONNECT' && !methods.includes(each))) {
      test(`405 for ${method} with Allow, with and without a key`, async () => {
        for (const key of [app.key, null]) {
          const { status, headers, body } = await app.send(method, path, { key })
          assert.equal(status, 405)
          assert.equal(body.code, 'method_not_allowed')
          assert.deepEqual(listed(headers.allow), methods.toSorted())
        }
      })
    }

    const unanswered = methods.includes('POST') ? 'PUT' : 'POST'
    test(`405 for ${unanswered} with an unacceptable body`, async () => {
      const request = { body: Buffer.alloc(100_000), headers: { 'content-type': 'text/plain' } }
      assert.equal((await app.send(unanswered, path, request)).status, 405)
    })

    test('200 for HEAD, with the headers of GET and no body', async () => {
      const [got, head] = [await app.send('GET', path), await app.send('HEAD', path)]
      assert.equal(head.status, got.status)
      const changing = ['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
      for (const name of changing) {
        assert.equal(name in head.headers, name in got.headers, name)
        delete head.headers[name]
        delete got.headers[name]
      }
      assert.deepEqual(head.headers, got.headers)
    })
  })
}

const nowhere = `
  /api /api/v1 /api/v1/ /api/v2/domains /domains /api/v1/domain /favicon.ico /.env /healthz /problems /%2e%2e/health
  /API/v1/domains //api/v1/domains /api//v1/domains /api/v1/domains;x /api/v1/domains%2F1 /api/v1/domains/1/
`
for (const path of nowhere.trim().split(/\s+/)) {
  test(`404 route_not_found for ${path}, for every method, with and without a key`, async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE']) {
      for (const key of [app.key, null]) {
        const { status, body } = await app.send(method, path, { key })
        assert.equal(status, 404, `${method} ${status}`)
        assert.equal(body.code, 'route_not_found')
      }
    }
    assert.equal((await app.send('HEAD', path)).status, 404)
  })
}

test('404 and 405 with advice about a slash at the end of the path', async () => {
  for (const [method, path, isTold] of [
    ['POST', '/api/v1/domains/', true],
    ['GET', '/api/v1/domains/1/?x', true],
    ['GET', '/api/v1/', true],
    ['GET', '/api/v1/nothing', false],
    ['DELETE', '/api/v1/domains?x=/', false],
  ] as const) {
    const { body } = await app.send(method, path)
    assert.equal(body.detail.endsWith(' Leave out the slash at the end of the path.'), isTold, `${method} ${path}`)
  }
})

describe('X-Request-Id', () => {
  const asked = (id: string | string[]) => app.send('GET', '/api/v1/domains/1', { headers: { 'x-request-id': id } })

  for (const id of ['a', 'A-b_c.9', '0', '-', '.', 'x'.repeat(64), '550e8400-e29b-41d4-a716-446655440000']) {
    test(`200 with the client's id ${id.slice(0, 40)}`, async () => {
      assert.equal((await asked(id)).headers['x-request-id'], id)
    })
  }

  for (const id of ['', 'x'.repeat(65), 'a b', 'a,b', 'a"b', '<a>', 'a/b', 'a:b', 'é', ['a', 'b']]) {
    test(`200 with a new id instead of ${JSON.stringify(id).slice(0, 40)}`, async () => {
      const sent = (await asked(typeof id === 'string' ? Buffer.from(id).toString('latin1') : id)).headers[
        'x-request-id'
      ]
      assert.notEqual(sent, id)
      assert.match(String(sent), /^[\w.-]{1,64}$/)
    })
  }

  test('4xx with the id of the client in the header and the body', async () => {
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['GET', '/%zz'],
      ['POST', '/health'],
      ['GET', '/api/v1/domains/0'],
      ['GET', '/api/v1/spaces?x'],
    ] as const) {
      const { headers, body } = await app.send(method, path, { headers: { 'x-request-id': 'mine.1' } })
      assert.equal(headers['x-request-id'], 'mine.1')
      assert.equal(body.request_id, 'mine.1')
    }
  })

  test('200 with a unique id', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => app.send('GET', '/health')))
    assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 100)
  })
})

describe('Accept', () => {
  for (const accept of ['text/html', '*/*', '', 'application/json;q=0', 'nonsense', 'text/html, */*;q=0.1']) {
    test(`200 with JSON for Accept: ${accept}`, async () => {
      const { status, headers } = await app.send('GET', '/api/v1/spaces', { headers: { accept } })
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    })

    test(`404 with JSON for Accept: ${accept}`, async () => {
      const { status, headers } = await app.send('GET', '/api/v1/spaces/0', { headers: { accept } })
      assert.equal(status, 404)
      assert.match(String(headers['content-type']), /^application\/(problem\+)?json; charset=utf-8$/)
    })
  }

  const json = 'application/json; charset=utf-8'
  const problem = 'application/problem+json; charset=utf-8'
  for (const [accept, type] of [
    [undefined, problem],
    ['*/*', problem],
    ['application/*', problem],
    ['text/html', problem],
    ['application/problem+json', problem],
    ['application/json, application/problem+json', problem],
    ['application/problem+json;q=0.1, application/json', problem],
    ['application/json-seq', problem],
    ['application/json', json],
    ['Application/JSON', json],
    ['application/json, text/plain, */*', json],
    ['text/html,application/json;q=0.9', json],
    ['text/html , application/json ; q=0.9', json],
  ] as const) {
    test(`4xx as ${type} for Accept: ${accept}`, async () => {
      const headers = accept === undefined ? {} : { accept }
      for (const [method, path] of [
        ['GET', '/nowhere'],
        ['GET', '/%zz'],
        ['PUT', '/health'],
        ['GET', '/api/v1/spaces/0'],
        ['POST', '/api/v1/spaces'],
      ] as const) {
        const answer = await app.send(method, path, { headers })
        assert.equal(answer.headers['content-type'], type, `${method} ${path}`)
        assert.equal(answer.headers.vary, 'Accept')
      }
      assert.equal((await app.send('GET', '/api/v1/spaces', { headers, key: null })).headers['content-type'], type)
    })
  }
})
