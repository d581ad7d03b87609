/** Requests of known attacks, none of which may harm other clients. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { startApp } from '../app.ts'

const spaces = '/api/v1/spaces'
const app = await startApp()

/** Sends the bytes. Resolves with all responses when the connection ends. Repeats this while the server is overloaded. */
async function exchange(
  port: number,
  bytes: string,
  whenSent: (socket: Socket) => void = () => undefined,
): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port })
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (text) => {
    received += text
  })
  socket.on('error', () => undefined)
  socket.write(bytes, 'latin1', () => whenSent(socket))
  await new Promise((resolve) => socket.once('close', resolve))
  return received.includes('"code":"overloaded"') ? exchange(port, bytes, whenSent) : received
}

function statuses(received: string): string[] {
  return [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status = '']) => status)
}

function request(method: string, path: string, lines: readonly string[], key = app.key): string {
  return [`${method} ${path} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${key}`, ...lines, '', ''].join('\r\n')
}

test('a CONNECT that is reset does not harm other clients', async () => {
  const bytes = `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${'x'.repeat(100_000)}`
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      exchange(app.port, bytes, (socket) => (n % 2 ? socket.resetAndDestroy() : socket.end())),
    ),
  )
  assert.equal((await app.send('GET', '/health', { key: null })).status, 200)
})

test('a refused connection is closed even if its client does not close it', async () => {
  const socket = connect({ host: '127.0.0.1', port: app.port, allowHalfOpen: true })
  const closed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
  socket.write('GARBAGE\r\n\r\n')
  socket.resume()
  const kept = setInterval(() => socket.write('x'), 10)
  await closed
  clearInterval(kept)
})

test('201 for a request that is followed by garbage', async () => {
  const body = '{"name":"Kept"}'
  const bytes = request('POST', spaces, ['Content-Type: application/json', `Content-Length: ${body.length}`]) + body
  assert.deepEqual(statuses(await exchange(app.port, `${bytes}GARBAGE\r\n\r\n`)), ['201'])
})

test('400 for a Transfer-Encoding other than chunked, and nothing is deleted', async () => {
  const { body } = await app.send('POST', spaces, { form: { name: 'Kept' } })
  const at = `${spaces}/${body.data.id}`
  for (const coding of ['gzip', 'xchunked', 'gzip, chunked']) {
    const bytes = `${request('DELETE', at, [`Transfer-Encoding: ${coding}`])}0\r\n\r\n`
    assert.equal(statuses(await exchange(app.port, bytes, (socket) => socket.end()))[0], '400', coding)
    assert.equal((await app.send('GET', at)).status, 200)
  }
})

test('400 for a repeated Host or Authorization header', async () => {
  for (const name of ['Host', 'Authorization']) {
    const received = await exchange(app.port, request('GET', spaces, [`${name}: b`, 'Connection: close']))
    assert.deepEqual(statuses(received), ['400'])
    assert.match(received, /"code":"malformed_request"/)
  }
})

test('422 for a name of 60 KB of combining marks, without normalizing it', async (t) => {
  const normalize = t.mock.method(String.prototype, 'normalize')
  const json = { name: `a${'\u0301\u0316'.repeat(15_000)}` }
  const { status, body } = await app.send('POST', spaces, { json })
  assert.deepEqual([status, body.violations[0].code], [422, 'too_long'])
  assert.ok(normalize.mock.calls.every((each) => String(each.this).length < 10_000))
})

test('sends 100 Continue only to a client of HTTP/1.1 that expects it, for a body that will be read', async () => {
  const body = '{"name":"Awaited"}'
  const ask = async (expected: string, { key = app.key, length = body.length, version = '1.1', sent = body } = {}) => {
    const lines = ['Content-Type: application/json', `Content-Length: ${length}`, `Expect: ${expected}`]
    const bytes = request('POST', spaces, [...lines, 'Connection: close'], key).replace('HTTP/1.1', `HTTP/${version}`)
    return statuses(await exchange(app.port, bytes + sent))
  }
  assert.deepEqual(await ask('100-continue'), ['100', '201'])
  assert.deepEqual(await ask('100-continue', { key: 'wm_wrong', sent: '' }), ['401'])
  assert.deepEqual(await ask('100-continue', { length: 1_000_000, sent: '' }), ['413'])
  assert.deepEqual(await ask('100-continue', { version: '1.0' }), ['201'])
  assert.deepEqual(await ask('200-ok'), ['201'])
})
