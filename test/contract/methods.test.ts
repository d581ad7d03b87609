/** Methods, and the headers that every answer has. */
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { describe, test } from 'node:test'
import { operations } from '../../src/app/operations.ts'
import { generateKey } from '../../src/keys/key.ts'
import { startApp } from '../app.ts'

const app = await startApp()
const [url, name] = ['https://acme.com', 'go.acme.com']
// Each gets the id 1.
for (const [path, json] of [
  ...[['domains', { name }] as const, ['spaces', { name }] as const, ['links', { url, tags: [name] }] as const],
  ...[['links/1/addresses', {}] as const, ['invitations', { role: 'viewer' }] as const],
]) {
  assert.equal((await app.send('POST', `/api/v1/${path}`, { json })).status, 201)
}

/** All paths, with the methods that they allow. */
const allowed: Record<string, string[]> = {}
const pages = ['/health', '/problems/not_found'].map((path) => ({ method: 'GET' as const, path }))
for (const { method, path } of [...operations, ...pages]) {
  allowed[path] = [...(allowed[path] ?? ['OPTIONS']), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]
}
const listed = (allow: unknown) => String(allow).split(', ').sort()

const others = ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE']

for (const [template, methods] of Object.entries(allowed)) {
  const path = pages.some((page) => page.path === template) ? template : `/api/v1${template.replace(/:\w+/g, '1')}`
  test(`${template} returns 204 with Allow for OPTIONS, and 405 for other methods, with and without a key`, async () => {
    const tried = path === '/api/v1/domains' ? METHODS.filter((each) => each !== 'CONNECT') : others
    for (const method of ['OPTIONS', ...tried.filter((each) => !methods.includes(each))]) {
      for (const key of [app.key, null]) {
        const { status, headers, body } = await app.send(method, path, { key })
        const expected = method === 'OPTIONS' ? [204, undefined] : [405, 'method_not_allowed']
        assert.deepEqual([status, body?.code], expected, method)
        assert.deepEqual(listed(headers.allow), methods.toSorted())
      }
    }
    const request = { body: Buffer.alloc(100_000), headers: { 'content-type': 'text/plain' } }
    assert.equal((await app.send(methods.includes('POST') ? 'PUT' : 'POST', path, request)).status, 405)
  })

  if (!methods.includes('GET')) continue
  test(`${template} returns the headers of GET for HEAD, without a body`, async () => {
    const [got, head] = [await app.send('GET', path), await app.send('HEAD', path)]
    assert.deepEqual([head.status, head.text], [got.status, ''])
    const varying = ['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
    for (const name of varying) assert.equal(name in head.headers, name in got.headers, name)
    // A response without a body needs no coding.
    for (const name of [...varying, 'transfer-encoding']) for (const { headers } of [head, got]) delete headers[name]
    assert.deepEqual(head.headers, got.headers)
  })
}

const nowhere = `
  /api /api/v1 /api/v1/ /api/v2/domains /domains /api/v1/domain /favicon.ico /.env /healthz /problems /%2e%2e/health
  /API/v1/domains //api/v1/domains /api//v1/domains /api/v1/domains;x /api/v1/domains%2F1 /api/v1/domains/1/
`
test('404 route_not_found for an unknown path, for every method, with and without a key', async () => {
  for (const path of nowhere.trim().split(/\s+/)) {
    for (const [index, method] of ['GET', 'OPTIONS', ...others].entries()) {
      const { status, body } = await app.send(method, path, { key: index % 2 ? app.key : null })
      assert.deepEqual([status, body.code], [404, 'route_not_found'], `${method} ${path}`)
    }
    assert.equal((await app.send('HEAD', path)).status, 404)
  }
})

test('405 on a known path in another spelling', async () => {
  assert.equal((await app.send('PUT', '/api/v1/%64omains')).status, 405)
})

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

  test('200 with the id of the client', async () => {
    for (const id of ['a', 'A-b_c.9', '0', '-', '.', 'x'.repeat(64), '550e8400-e29b-41d4-a716-446655440000'])
      assert.equal((await asked(id)).headers['x-request-id'], id)
  })

  test('200 with a new id instead of a malformed one', async () => {
    for (const id of ['', 'x'.repeat(65), 'a b', 'a,b', 'a"b', '<a>', 'a/b', 'a:b', 'Ã©', ['a', 'b']]) {
      const sent = (await asked(id)).headers['x-request-id']
      assert.notEqual(sent, id)
      assert.match(String(sent), /^[\w.-]{1,64}$/)
    }
  })

  test('200 with a new id instead of an id with an API key, which is not logged', async () => {
    for (const secret of [app.key, generateKey()]) {
      for (const id of [secret, `id-${secret}`, `${secret}-7`, `x${secret}.y`]) {
        assert.ok(!String((await asked(id)).headers['x-request-id']).includes(secret))
        assert.ok(!JSON.stringify(app.logs).includes(secret))
      }
    }
  })

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

test('200 and 404 with JSON for any Accept', async () => {
  for (const accept of ['text/html', '*/*', '', 'application/json;q=0', 'nonsense', 'text/html, */*;q=0.1']) {
    const { status, headers } = await app.send('GET', '/api/v1/spaces', { headers: { accept } })
    assert.deepEqual([status, headers['content-type']], [200, 'application/json; charset=utf-8'])
    const unknown = await app.send('GET', '/api/v1/spaces/0', { headers: { accept } })
    assert.equal(unknown.status, 404)
    assert.match(String(unknown.headers['content-type']), /^application\/(problem\+)?json; charset=utf-8$/)
  }
})

test('4xx as application/json only if Accept names it without application/problem+json', async () => {
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
    const headers = accept === undefined ? {} : { accept }
    for (const [method, path, key] of [
      ['GET', '/nowhere', app.key],
      ['GET', '/%zz', app.key],
      ['PUT', '/health', app.key],
      ['POST', '/api/v1/spaces', app.key],
      ['GET', '/api/v1/spaces', null],
    ] as const) {
      const answer = await app.send(method, path, { headers, key })
      assert.deepEqual([answer.headers['content-type'], answer.headers.vary], [type, 'Accept'], `${accept} ${path}`)
    }
  }
})
