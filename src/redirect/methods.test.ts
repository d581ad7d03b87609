/** Methods other than GET and HEAD, and their bodies. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Answer } from '../../test/client.ts'
import { eventually } from '../../test/processes.ts'
import { dial } from '../../test/raw-socket.ts'
import { type LinkFields, startVisitors } from '../../test/visitors.ts'
import { hashPassword } from '../links/password.ts'

const longAgo = '1970-01-01T00:00:00.000Z'
const target = 'https://acme.com/summer'
const host = 'http://go.acme.com'
const redirect_password = await hashPassword('a')
const serving = (...links: readonly LinkFields[]) => startVisitors({ 'go.acme.com': { links } }, { left: 1 })

function checkRedirect({ status, headers }: Answer, wanted: { status?: number; location: string }): void {
  assert.deepEqual([status, headers.location], [wanted.status ?? 302, wanted.location])
}

test('redirects every method on a link with 307 or 308, as one click, and keeps the form of a password', async () => {
  const over = { active_period_end_at: longAgo, redirect_status: 307, url: target }
  const { visit, clicks } = await serving(
    { alias: 'a', url: target, redirect_status: 307 },
    { alias: 'b', url: target, redirect_status: 308 },
    { alias: 'p', url: target, redirect_status: 308, redirect_password },
    { alias: 'over', ...over },
    { alias: 'moved', ...over, expiration_url: 'https://acme.com/over' },
    { alias: 'off', url: target, redirect_status: 307, disabled: true },
  )
  const methods = ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND', 'TRACE']
  for (const method of methods) {
    checkRedirect(await visit(`${host}/a`, { method }), { status: 307, location: target })
    checkRedirect(await visit(`${host}/b`, { method, headers: { 'user-agent': 'curl/8.5.0' } }), {
      status: 308,
      location: target,
    })
    assert.equal((await visit(`${host}/over`, { method })).status, 410)
    checkRedirect(await visit(`${host}/moved`, { method }), { location: 'https://acme.com/over' })
    for (const path of ['a+', 'off', 'unknown', '']) {
      const { status, headers } = await visit(`${host}/${path}`, { method })
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], path)
    }
  }
  assert.deepEqual(clicks, Array(methods.length).fill(1), 'only clicks of people')
  assert.equal((await visit(`${host}/p`, { method: 'PUT' })).status, 401)
  const form = { redirect_password: 'a' }
  checkRedirect(await visit(`${host}/p`, { method: 'POST', form }), { status: 303, location: target })
})

test('shows the preview of a limited link with 307 to every method of clients without a user agent', async () => {
  const { visit } = await serving({ alias: 'a', url: target, redirect_status: 307, clicks_limit: 1 })
  const headers = { 'user-agent': '' }
  for (const method of ['POST', 'PUT']) {
    const { status, text } = await visit(`${host}/a`, { method, headers })
    assert.equal(status, 200)
    assert.ok(text.includes(target))
    assert.equal((await visit(`${host}/a+`, { method, headers })).status, 405)
  }
})

test('redirects without reading the body, and keeps the connection unless the client may keep the body', async (t) => {
  const { server } = await serving({ alias: 'a', url: target, redirect_status: 307 })
  const { client } = await dial(t, server)
  let text = ''
  client.on('data', (chunk) => {
    text += chunk
  })
  const answers = () => text.match(/^HTTP\/1\.1 307 /gm)?.length ?? 0
  const post = (length: number, more = '') =>
    client.write(`POST /a HTTP/1.1\r\nHost: go.acme.com\r\nContent-Length: ${length}\r\n${more}\r\n`)
  post(200_000)
  await eventually(() => answers() === 1)
  client.write('x'.repeat(200_000))
  client.write('PUT /a HTTP/1.1\r\nHost: go.acme.com\r\nTransfer-Encoding: chunked\r\n\r\n')
  await eventually(() => answers() === 2)
  client.write('5\r\nhello\r\n0\r\n\r\n')
  assert.doesNotMatch(text, /^connection: close/im)
  post(5, 'Expect: 100-continue\r\n')
  await once(client, 'close')
  assert.equal(answers(), 3)
  assert.doesNotMatch(text, /100 Continue/)
  assert.match(text, /^connection: close/im)
})

test('closes the connection of a client that sends an endless body', async (t) => {
  const { server } = await serving({ alias: 'a', url: target, redirect_status: 308 })
  const { client } = await dial(t, server)
  client.resume().write('POST /a HTTP/1.1\r\nHost: go.acme.com\r\nTransfer-Encoding: chunked\r\n\r\n')
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  let sent = 0
  while (!client.destroyed && sent < 1_000) {
    sent += 1
    await new Promise<void>((done) => client.write(chunk, () => done()))
  }
  assert.ok(sent < 1_000, 'the server reads up to 16 MiB, and the network some more')
})
