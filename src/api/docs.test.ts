import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { sendRequest } from '../../test/client.ts'
import { operations } from '../app.ts'
import { failures } from '../http/failures.ts'
import { openApiDocument } from './openapi/document.ts'

const html = 'text/html; charset=utf-8'
const json = 'application/json; charset=utf-8'

test('302 from / to the reference', async () => {
  const app = await startApp()
  const { status, headers } = await app.send('GET', '/', { key: null })
  assert.equal(status, 302)
  assert.equal(headers.location, '/docs')
})

test('200 with the document, without a key', async () => {
  const app = await startApp()
  const { status, headers, body } = await app.send('GET', '/openapi.json', { key: null })
  assert.equal(status, 200)
  assert.equal(headers['content-type'], json)
  assert.deepEqual(body, JSON.parse(JSON.stringify(openApiDocument(operations, app.origin))))
})

test('200 with the reference at /docs alone; its other addresses lead there', async () => {
  const app = await startApp()
  const { status, headers, text } = await app.send('GET', '/docs', { key: null })
  assert.equal(status, 200)
  assert.equal(headers['content-type'], html)
  assert.doesNotMatch(text, /(?:src|href)="(?!\/docs\/)/)
  for (const path of ['/docs/', '/docs?a=1', '/docs/?a=1', '/docs/static/']) {
    const answer = await app.send('GET', path, { key: null })
    assert.deepEqual([answer.status, answer.headers.location], [302, '/docs'], path)
  }
})

test('the reference may load nothing from any other host, over plain http too', async () => {
  const app = await startApp()
  const { headers } = await app.send('GET', '/docs', { key: null })
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /^default-src 'none';/)
  assert.doesNotMatch(policy, /https?:|\*|unsafe|upgrade-insecure-requests/)
})

test('200 with a file of the reference, then 304 while it is the same', async () => {
  const app = await startApp()
  const get = (headers: Record<string, string>) =>
    sendRequest(
      { agent: undefined, port: app.port, method: 'GET', path: '/docs/static/swagger-ui.css' },
      { key: null, headers },
    )
  const first = await get({ 'x-request-id': 'mine', connection: 'close' })
  assert.equal(first.status, 200)
  assert.equal(first.headers['content-type'], 'text/css; charset=utf-8')
  assert.equal(first.headers['x-request-id'], 'mine')
  assert.equal(first.headers['x-content-type-options'], 'nosniff')
  for (const known of [String(first.headers.etag), `W/${first.headers.etag}`, '*'])
    assert.equal((await get({ 'if-none-match': known, connection: 'close' })).status, 304)
  assert.equal((await get({ 'if-none-match': '"other"', connection: 'close' })).status, 200)
})

test('404 for a file that the reference does not have, as for any other path', async () => {
  const app = await startApp()
  for (const path of [
    '/docs/nothing',
    '/docs/static/nothing.js',
    '/docs/static/%2e%2e/package.json',
    '/docs/static/%00',
    `/docs/static/${'a'.repeat(300)}`,
  ]) {
    const { status, body } = await app.send('GET', path, { key: null })
    assert.deepEqual([status, body.code], [404, 'route_not_found'], path)
  }
})

test('405 for anything but GET', async () => {
  const app = await startApp()
  for (const path of ['/', '/openapi.json', '/docs', '/docs/static/swagger-ui.css', '/problems/not_found']) {
    const { status, headers } = await app.send('POST', path, { key: null })
    assert.deepEqual([status, headers.allow], [405, 'GET, HEAD, OPTIONS'], path)
  }
})

test('every problem has its page, which loads and runs nothing', async () => {
  const app = await startApp()
  for (const [code, { title }] of Object.entries(failures)) {
    const { status, headers, text } = await app.send('GET', `/problems/${code}`, { key: null })
    assert.equal(status, 200)
    assert.equal(headers['content-type'], html)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
    assert.ok(text.includes(`<h1>${title}</h1>`))
  }
})

test('problems are explained in JSON to those who ask for it, and not for HTML', async () => {
  const app = await startApp()
  const asked = async (accept: string) => app.send('GET', '/problems/name_taken', { key: null, headers: { accept } })
  const { headers, body } = await asked('application/json')
  assert.equal(headers['content-type'], json)
  assert.equal(headers.vary, 'Accept')
  assert.deepEqual(body, { code: 'name_taken', ...failures.name_taken })
  assert.equal((await asked('text/html, application/json')).headers['content-type'], html)
  assert.equal((await asked('*/*')).headers['content-type'], html)
})

test('404 for a problem that there is none of', async () => {
  const app = await startApp()
  for (const code of ['nothing', 'toString', '__proto__', 'NOT_FOUND', '']) {
    const { status, body } = await app.send('GET', `/problems/${code}`, { key: null })
    assert.deepEqual([status, body.code], [404, 'not_found'], code)
  }
})
