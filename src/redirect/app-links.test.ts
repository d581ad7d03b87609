/** The files of apps on the redirect server, and the paths around them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseUnavailable } from '../../src/errors.ts'
import { startApp } from '../../test/app.ts'
import { failing } from '../../test/failing-storage.ts'
import { exchange } from '../../test/raw-socket.ts'
import { startVisitors } from '../../test/visitors.ts'

const apple_app_site_association = '{"applinks": {"details": [], "note": "ü </script>"}}'
const asset_links = '[{"include": "https://acme.com/assetlinks.json"}]'
const lost = 'https://acme.com/lost'
const { visit, port, counts, clicks } = await startVisitors({
  'go.acme.com': { apple_app_site_association, asset_links, not_found_url: lost, homepage_url: 'https://acme.com/' },
  'apple.acme.com': { apple_app_site_association, not_found_url: lost },
  'none.acme.com': { not_found_url: lost, links: [{ alias: 'apple-app-site-association', url: 'https://acme.com/' }] },
})

test('200 with the stored text as JSON at every spelling of the paths of files', async () => {
  for (const [path, text] of [
    ['.well-known/apple-app-site-association', apple_app_site_association],
    ['apple-app-site-association', apple_app_site_association],
    ['.well-known/assetlinks.json', asset_links],
    ['.well-known/assetlinks.json?x=1', asset_links],
    ['.well-known/assetlinks.json/', asset_links],
    ['.Well-Known/AssetLinks.JSON', asset_links],
    ['%2Ewell-known%2Fassetlinks%2Ejson', asset_links],
    ['/.well-known//assetlinks.json)', asset_links],
    ['/apple-app-site-association.', apple_app_site_association],
  ] as const) {
    const answer = await visit(`http://go.acme.com/${path}`)
    assert.deepEqual([answer.status, answer.text], [200, text], path)
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers['cache-control'], 'no-cache')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers.location, undefined)
    const head = await visit(`http://go.acme.com/${path}`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.equal(head.headers['content-length'], String(Buffer.byteLength(text)))
  }
  assert.ok(counts.app_links > 0)
  assert.deepEqual([counts.redirect, clicks], [0, []])
})

test('405 for other methods than GET and HEAD', async () => {
  for (const path of ['.well-known/assetlinks.json', 'apple-app-site-association', '.well-known/other']) {
    for (const method of ['POST', 'PUT', 'OPTIONS', 'DELETE']) {
      const { status, headers } = await visit(`http://go.acme.com/${path}`, { method })
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], path)
    }
  }
})

test('the 404 page for missing files and all else at and below /.well-known, even with a not-found URL', async () => {
  for (const url of [
    'none.acme.com/.well-known/apple-app-site-association',
    'none.acme.com/apple-app-site-association',
    'none.acme.com/apple-app-site-association/',
    'none.acme.com/APPLE-app-site-association',
    'none.acme.com/.well-known/assetlinks.json',
    'apple.acme.com/.well-known/assetlinks.json',
    'go.acme.com/.well-known',
    'go.acme.com/.well-known/',
    'go.acme.com/.WELL-KNOWN',
    'go.acme.com/.well-known//',
    'go.acme.com//.well-known',
    'go.acme.com/.well-known/waymark/',
    'go.acme.com/.well-known/waymark+',
    'go.acme.com/.well-known/security.txt',
    'go.acme.com/.well-known/apple-app-site-association.json',
    'go.acme.com/.well-known/assetlinks.json+',
    'go.acme.com/.well-known/a/../assetlinks.json',
    'go.acme.com/.well-known/%ff',
    'go.acme.com/.well-known/%00',
    'go.acme.com/%2e%77%65%6c%6c%2d%6b%6e%6f%77%6e%2f%ff',
    `go.acme.com/.well-known/${'a'.repeat(5_000)}`,
    `go.acme.com/.well-known/${'%C3%BC'.repeat(1_000)}`,
  ]) {
    const { status, headers, text } = await visit(`http://${url}`)
    assert.deepEqual([status, headers.location], [404, undefined], url.slice(0, 80))
    assert.match(text, /<h1>Link not found<\/h1>/)
  }
  const json = await visit('http://go.acme.com/.well-known/x', { headers: { accept: 'application/json' } })
  assert.equal(json.headers['content-type'], 'application/json; charset=utf-8')
})

test('redirects paths that only resemble /.well-known to the not-found URL', async () => {
  for (const path of ['.well-known2', '.well-knownx/a', 'a/.well-known/x', 'well-known/x', '.well-known+', '%ff']) {
    const { status, headers } = await visit(`http://go.acme.com/${path}`)
    assert.deepEqual([status, headers.location], [302, lost], path)
  }
  for (const path of ['apple-app-site-association+', 'apple-app-site-association/x', 'assetlinks.json'])
    assert.equal((await visit(`http://go.acme.com/${path}`)).status, 302, path)
})

test('unknown hosts get the page for unknown hosts', async () => {
  const { status, text } = await visit('http://unknown.example/.well-known/assetlinks.json')
  assert.deepEqual([status, text.includes('acme')], [404, false])
})

test('200 for a request without a user agent, in HTTP/1.0 and with an absolute target', async () => {
  for (const request of [
    'GET /.well-known/assetlinks.json HTTP/1.0\r\nHost: go.acme.com\r\n\r\n',
    'GET http://go.acme.com/.well-known/assetlinks.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  ]) {
    const [answer] = await exchange(port, [request])
    assert.deepEqual([answer?.status, answer?.text], [200, asset_links])
  }
})

test('a change, an undo and a deletion take effect immediately; a link may redirect to a file', async () => {
  let fault: unknown
  const app = await startApp({ storage: failing(() => fault) })
  const send = async (method: string, path: string, json?: object) =>
    (await app.send(method, `/api/v1${path}`, json && { json })).body?.data
  const name = 'go.acme.com'
  const file = async (path = '.well-known/assetlinks.json') => {
    const { status, text } = await app.visit(`http://${name}/${path}`)
    return [status, status === 200 ? text : '']
  }
  const { id } = await send('POST', '/domains', { name, not_found_url: lost })
  assert.deepEqual(await file(), [404, ''])
  await send('PATCH', `/domains/${id}`, { asset_links })
  assert.deepEqual(await file(), [200, asset_links])
  await send('PATCH', `/domains/${id}`, { asset_links: '[]' })
  assert.deepEqual(await file(), [200, '[]'])
  const [event] = await send('GET', '/events')
  await send('POST', `/events/${event.id}/undo`)
  assert.deepEqual(await file(), [200, asset_links])
  assert.deepEqual(await file('.well-known/apple-app-site-association'), [404, ''])
  await send('POST', '/links', { alias: 'file', url: `http://${name}/.well-known/assetlinks.json`, domain_id: id })
  assert.equal((await app.visit(`http://${name}/file`)).status, 302)

  fault = databaseUnavailable(new Error('down'))
  assert.deepEqual(await file(), [200, asset_links])
  assert.deepEqual(await file('.well-known/apple-app-site-association'), [404, ''])
  fault = undefined
  await send('PATCH', `/domains/${id}`, { not_found_url: null })
  fault = databaseUnavailable(new Error('down'))
  const { status, headers } = await app.visit(`http://${name}/.well-known/assetlinks.json`)
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
  fault = undefined
  await app.send('DELETE', `/api/v1/domains/${id}?links=delete`)
  assert.deepEqual(await file(), [404, ''])
})
