/** Clients that close their half of a connection, as `nc -N` does, and wait for the response (RFC 9293 §3.6). */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/processes.ts'
import { dial } from '../../test/raw-socket.ts'
import { startVisitors } from '../../test/visitors.ts'
import { hashPassword } from '../links/password.ts'

const host = 'Host: go.acme.com\r\n'
const get = `GET /a HTTP/1.1\r\n${host}\r\n`
const form = 'redirect_password=swordfish'
const redirect_password = await hashPassword('swordfish')
const post = `POST /secret HTTP/1.1\r\n${host}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 27\r\n\r\n`

/** Connects a client to a listener that finds no link before `find`. */
async function connected(t: TestContext) {
  const { promise: lookup, resolve: find } = Promise.withResolvers<void>()
  const url = 'https://acme.com/'
  const links = [
    { alias: 'a', url },
    { alias: 'secret', url, redirect_password },
  ]
  const { server } = await startVisitors({ 'go.acme.com': { links } }, { lookup })
  // A half-closed connection stays open until the server closes it, too.
  const { client, server: peer } = await dial(t, server, { allowHalfOpen: true })
  return { client, peer, find }
}

const statusesIn = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))

for (const [what, request, expected] of [
  ['a GET', get, [302]],
  ['a HEAD', get.replace('GET', 'HEAD'), [302]],
  ['a POST', post + form, [303]],
  ['pipelined requests', get + get.replace('/a', '/b'), [302, 404]],
  ['half a head', get.slice(0, -2), [400]],
  ['half a body', post + form.slice(9), [400]],
  ['a request and half a head', get + get.slice(0, -2), [302]],
  ['nothing', '', []],
] as const) {
  test(`answers a client that half-closes its connection after ${what}, and closes it`, async (t) => {
    const { client, peer, find } = await connected(t)
    const closed = once(peer, 'close')
    client.end(request)
    await once(peer, 'end')
    find()
    const text = (await client.toArray()).join('')
    assert.deepEqual(statusesIn(text), expected)
    await closed
  })
}

test('closes a kept connection that its client half-closes after the response', async (t) => {
  const { client, peer, find } = await connected(t)
  const closed = once(peer, 'close')
  client.write(get)
  find()
  const [text] = await once(client, 'data')
  assert.deepEqual(statusesIn(text), [302])
  client.end()
  await closed
})

test('closes a half-closed connection whose client leaves before the response', async (t) => {
  const { client, peer, find } = await connected(t)
  const closed = once(peer, 'close')
  client.end(get)
  await once(peer, 'end')
  client.resetAndDestroy()
  find()
  // Also after an error of the socket, which \`once\` would reject with.
  await closed.catch(() => eventually(() => peer.closed))
})
