/** Requests of known attacks, none of which may harm other clients. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { startApp } from '../app.ts'

const spaces = '/api/v1/spaces'

/** Sends the bytes. Resolves with all responses when the connection ends. */
function exchange(port: number, bytes: string, whenSent: (socket: Socket) => void = () => undefined): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(received))
    socket.write(bytes, 'latin1', () => whenSent(socket))
  })
}

function statuses(received: string): string[] {
  return [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status = '']) => status)
}

test('a CONNECT that is reset does not harm other clients', async () => {
  const app = await startApp()
  const request = `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${'x'.repeat(100_000)}`
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      exchange(app.port, request, (socket) => (n % 2 ? socket.resetAndDestroy() : socket.end())),
    ),
  )
  assert.equal((await app.send('GET', '/health', { key: null })).status, 200)
})

test('a refused connection is closed even if its client does not close it', async () => {
  const app = await startApp()
  const socket = connect({ host: '127.0.0.1', port: app.port, allowHalfOpen: true })
  const closed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
  socket.write('GARBAGE\r\n\r\n')
  socket.resume()
  const kept = setInterval(() => socket.write('x'), 100)
  await closed
  clearInterval(kept)
})

test('201 for a request that is followed by garbage', async () => {
  const app = await startApp()
  const body = '{"name":"Kept"}'
  const request = `POST ${spaces} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  assert.deepEqual(statuses(await exchange(app.port, `${request}GARBAGE\r\n\r\n`)), ['201'])
})

for (const coding of ['gzip', 'xchunked', 'gzip, chunked']) {
  test(`400 for Transfer-Encoding: ${coding}, and nothing is deleted`, async () => {
    const app = await startApp()
    const { body } = await app.send('POST', spaces, { form: { name: 'Kept' } })
    const at = `${spaces}/${body.data.id}`
    const head = `DELETE ${at} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.key}\r\nTransfer-Encoding: ${coding}\r\n\r\n`
    assert.equal(statuses(await exchange(app.port, `${head}0\r\n\r\n`, (socket) => socket.end()))[0], '400')
    assert.equal((await app.send('GET', at)).status, 200)
  })
}

for (const name of ['Host', 'Authorization']) {
  test(`400 for a repeated ${name} header`, async () => {
    const app = await startApp()
    const own = { Host: 'a', Authorization: `Bearer ${app.key}` }
    const lines = [...Object.entries(own), [name, 'b']].map(([key, value]) => `${key}: ${value}\r\n`).join('')
    const received = await exchange(app.port, `GET ${spaces} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`)
    assert.deepEqual(statuses(received), ['400'])
    assert.match(received, /"code":"malformed_request"/)
  })
}

test('422 for a name of 60 KB of combining marks, without normalizing it', async (t) => {
  const app = await startApp()
  const normalize = t.mock.method(String.prototype, 'normalize')
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => app.send('POST', spaces, { json: { name: `a${'\u0301\u0316'.repeat(15_000)}` } })),
  )
  for (const { status, body } of answers) {
    assert.equal(status, 422)
    assert.equal(body.violations[0].code, 'too_long')
  }
  assert.ok(normalize.mock.calls.every((each) => String(each.this).length < 10_000))
})

test('sends no 100 Continue for a body that will be rejected', async () => {
  const app = await startApp()
  const ask = (length: number, key: string, body = '') =>
    exchange(
      app.port,
      `POST ${spaces} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n${body}`,
    )
  const body = '{"name":"Awaited"}'
  assert.deepEqual(statuses(await ask(body.length, app.key, body)), ['100', '201'])
  assert.deepEqual(statuses(await ask(body.length, 'wm_wrong')), ['401'])
  assert.deepEqual(statuses(await ask(1_000_000, app.key)), ['413'])
})

for (const [what, version, expectation] of [
  ['a client of HTTP/1.0', '1.0', '100-continue'],
  ['a client that expects something else', '1.1', '200-ok'],
] as const) {
  test(`sends no 100 Continue to ${what}`, async () => {
    const app = await startApp()
    const body = '{"name":"Awaited"}'
    const request = `POST ${spaces} HTTP/${version}\r\nHost: a\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: ${expectation}\r\nConnection: close\r\n\r\n${body}`
    assert.deepEqual(statuses(await exchange(app.port, request)), ['201'])
  })
}

test('405 on a known path in another spelling', async () => {
  const app = await startApp()
  assert.equal((await app.send('PUT', '/api/v1/%64omains')).status, 405)
})
