import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startDns, type Zone } from '../../test/dns-server.ts'
import { freePort } from '../../test/processes.ts'
import { listenOn, tls, trustCertificate } from '../../test/servers.ts'
import { version } from '../version.ts'
import { type Answer, OldServices, type UnreachableReason } from './old-service.ts'

const fingerprint = 'n3vaDcnoPlRmZQxY1sWu0k'
const serve = (t: TestContext, listener: RequestListener) =>
  listenOn(t, createServer({ maxHeaderSize: 200_000 }, listener))
const serveTls = (t: TestContext, listener: RequestListener) => listenOn(t, createSecureServer(tls, listener))
const redirectTo =
  (location: string, status = 301): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end()

interface Asked {
  readonly host?: string
  readonly path?: string
  readonly times?: number
  readonly timeoutMs?: number
}

/** Requests a path of a host whose requests are sent to a port of this machine. */
async function ask(port: number, { host = 'old.example', path = 'a', times = 1, timeoutMs = 10_000 }: Asked = {}) {
  const hosts = new Map([[host, { address: '127.0.0.1', port }]])
  const services = new OldServices({ hosts, timeoutMs, pauseMs: 0 })
  const { signal } = new AbortController()
  const service = await services.find(host, fingerprint, signal)
  const answers: (Answer | UnreachableReason)[] = []
  for (let time = 0; time < times; time++) answers.push(await service.get(path, signal))
  return times === 1 ? answers[0] : answers
}

/** Requests a path of a host by what the DNS returns. */
async function lookUp(t: TestContext, host: string, zone?: Zone): Promise<unknown> {
  const dns = await startDns(t, zone === undefined ? {} : { [host]: zone })
  const services = new OldServices({ hosts: new Map(), dns, pauseMs: 0 })
  const { signal } = new AbortController()
  return (await services.find(host, fingerprint, signal)).get('a', signal)
}

test('sends one GET with the old host, and returns the status and the location', async (t) => {
  const asked: unknown[] = []
  const port = await serve(t, (request, response) => {
    const { host, 'user-agent': agent, cookie } = request.headers
    asked.push([request.method, request.url, host, agent, cookie])
    response.writeHead(302, { location: 'https://tea.example/oolong?a=1#b', 'set-cookie': 'a=1' }).end('moved')
  })
  const expected = { status: 302, location: 'https://tea.example/oolong?a=1#b' }
  assert.deepEqual(await ask(port, { path: 'Q7%3F', times: 2 }), [expected, expected])
  const get = ['GET', '/Q7%3F', 'old.example', `Waymark/${version} (import proof bot)`, undefined]
  assert.deepEqual(asked.slice(1), [get, get])
  assert.equal((asked[0] as string[])[1], '/.well-known/waymark')
})

for (const [sent, location] of [
  ['/to', 'http://old.example/to'],
  ['to', 'http://old.example/b/to'],
  ['//tea.example', 'http://tea.example/'],
  ['https://TEA.example:443', 'https://tea.example/'],
  ['https://tea.example/a b', 'https://tea.example/a%20b'],
  [Buffer.from('https://tea.example/grün').toString('latin1'), 'https://tea.example/gr%C3%BCn'],
  [Buffer.from('https://grün.example/').toString('latin1'), 'https://xn--grn-ioa.example/'],
  ['https://tea.example/\xfc', 'https://tea.example/%C3%BC'],
  ['mailto:tea@example.com', 'mailto:tea@example.com'],
  ['https://', 'https://'],
  ['http://[::1', 'http://[::1'],
  ['', 'http://old.example/b/c'],
] as const) {
  test(`returns the absolute URL of the location "${sent}"`, async (t) => {
    const port = await serve(t, redirectTo(sent))
    assert.deepEqual(await ask(port, { path: 'b/c' }), { status: 301, location })
  })
}

test('returns no location unless the response is a redirect', async (t) => {
  for (const status of [200, 201, 404, 410, 500]) {
    assert.deepEqual(await ask(await serve(t, redirectTo('/to', status))), { status, location: null })
  }
})

test('follows no redirect, not even to HTTPS at the same path', async (t) => {
  let asked = 0
  const port = await serve(t, (_, response) => {
    asked += 1
    response.writeHead(301, { location: 'https://old.example/a' }).end()
  })
  assert.deepEqual(await ask(port), { status: 301, location: 'https://old.example/a' })
  assert.equal(asked, 2)
})

test('requests HTTPS first, with the name of the old host', async (t) => {
  trustCertificate(t)
  const names: unknown[] = []
  const server = createSecureServer(tls, redirectTo('/to'))
  server.on('secureConnection', ({ servername }) => names.push(servername))
  const port = await listenOn(t, server)
  assert.deepEqual(await ask(port, { host: 'localhost' }), { status: 301, location: 'https://localhost/to' })
  assert.deepEqual(names, ['localhost', 'localhost'])
})

test('refuses a certificate that is invalid, or for another host', async (t) => {
  const port = await serveTls(t, redirectTo('/to'))
  assert.equal(await ask(port, { host: 'localhost' }), 'certificate')
  trustCertificate(t)
  assert.equal(await ask(port, { host: 'old.example' }), 'certificate')
})

test('recognizes a host that reaches this instance, and sends it no more requests', async (t) => {
  const asked: unknown[] = []
  const port = await serve(t, (request, response) => {
    asked.push(request.url)
    response.end(`${fingerprint}\n`)
  })
  assert.deepEqual(await ask(port, { times: 2 }), ['points_here', 'points_here'])
  assert.deepEqual(asked, ['/.well-known/waymark'])
})

test('reads no body, however long it is', async (t) => {
  const closed = Promise.withResolvers<void>()
  const port = await serve(t, (request, response) => {
    if (request.url !== '/a') return void response.writeHead(404).end()
    response.on('close', closed.resolve).writeHead(302, { location: 'https://tea.example/' })
    const more = () => void (response.write('a'.repeat(50_000)) && setImmediate(more))
    response.on('drain', more)
    more()
  })
  assert.deepEqual(await ask(port), { status: 302, location: 'https://tea.example/' })
  await closed.promise
})

test('is unreachable if nothing listens, or the connection is reset', async (t) => {
  assert.equal(await ask(await freePort()), 'no_connection')
  const resetting = createTcpServer((socket: Socket) => void socket.once('data', () => socket.resetAndDestroy()))
  assert.equal(await ask(await listenOn(t, resetting)), 'invalid_response')
})

test('is unreachable if no connection is established in time', async () => {
  // An address for documentation (RFC 5737): no network has it.
  const hosts = new Map([['old.example', { address: '192.0.2.1', port: 443 }]])
  const services = new OldServices({ hosts, connectTimeoutMs: 200, pauseMs: 0 })
  const { signal } = new AbortController()
  const service = await services.find('old.example', fingerprint, signal)
  assert.equal(await service.get('a', signal), 'no_connection')
})

test('is unreachable without a valid response', async (t) => {
  const talking = (text: string) => createTcpServer((socket) => void socket.on('error', () => undefined).end(text))
  for (const text of ['SSH-2.0-x\r\n', 'HTTP/1.1 302 Found\r\nLoc', 'HTTP/1.1 302 Found\r\nLocation: /\0\r\n\r\n']) {
    assert.equal(await ask(await listenOn(t, talking(text))), 'invalid_response', text)
  }
  const hinting = createTcpServer((socket) => {
    const hint = () => void (socket.writable && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n', hint))
    socket.on('error', () => undefined).once('data', hint)
  })
  assert.equal(await ask(await listenOn(t, hinting)), 'invalid_response')
})

test('refuses headers over 32 KiB', async (t) => {
  const port = await serve(t, (request, response) => {
    if (request.url === '/a') response.setHeader('x', 'a'.repeat(40_000))
    response.writeHead(302, { location: '/to' }).end()
  })
  assert.equal(await ask(port), 'invalid_response')
})

test('stops waiting for a slow response', async (t) => {
  const server = createServer((request, response) => void (request.url !== '/a' && response.writeHead(404).end()))
  t.after(() => server.closeAllConnections())
  assert.equal(await ask(await listenOn(t, server), { timeoutMs: 2_000 }), 'timeout')
})

test('requests nothing more from a host after 5 requests in a row without a response', async (t) => {
  const paths: unknown[] = []
  const port = await serve(t, (request, response) => {
    paths.push(request.url)
    if (request.url === '/a') request.socket.destroy()
    else response.writeHead(404).end()
  })
  assert.deepEqual(await ask(port, { times: 8 }), Array(8).fill('invalid_response'))
  assert.deepEqual(paths.slice(1), Array(5).fill('/a'))
})

test('never has two requests to a host at the same time', async (t) => {
  let open = 0
  let most = 0
  const port = await serve(t, (_, response) => {
    open += 1
    most = Math.max(most, open)
    setImmediate(() => {
      open -= 1
      response.writeHead(302, { location: '/to' }).end()
    })
  })
  const services = new OldServices({ hosts: new Map([['old.example', { address: '127.0.0.1', port }]]), pauseMs: 0 })
  const { signal } = new AbortController()
  const ten = async () => {
    const service = await services.find('old.example', fingerprint, signal)
    for (let time = 0; time < 10; time++) await service.get('a', signal)
  }
  await Promise.all([ten(), ten(), ten()])
  assert.equal(most, 1)
})

test('ends with the signal', async (t) => {
  const controller = new AbortController()
  const server = createServer((request, response) => {
    if (request.url === '/a') controller.abort()
    else response.writeHead(404).end()
  })
  t.after(() => server.closeAllConnections())
  const hosts = new Map([['old.example', { address: '127.0.0.1', port: await listenOn(t, server) }]])
  const service = await new OldServices({ hosts, pauseMs: 0 }).find('old.example', fingerprint, controller.signal)
  await assert.rejects(service.get('a', controller.signal), { name: 'AbortError' })
})

for (const [host, zone] of [
  ['a.example', { A: ['127.0.0.1'] }],
  ['a.example', { A: ['10.0.0.1'] }],
  ['a.example', { A: ['203.0.113.7', '169.254.169.254'] }],
  ['a.example', { A: ['0.0.0.0'] }],
  ['a.example', { A: ['198.18.0.1'] }],
  ['a.example', { A: ['255.255.255.255'] }],
  ['a.example', { AAAA: ['::1'] }],
  ['a.example', { AAAA: ['::'] }],
  ['a.example', { AAAA: ['::ffff:7f00:1'] }],
  ['a.example', { AAAA: ['::7f00:1'] }],
  ['a.example', { AAAA: ['64:ff9b::7f00:1'] }],
  ['a.example', { AAAA: ['64:ff9b:1::a00:1'] }],
  ['a.example', { AAAA: ['2002:7f00:1::'] }],
  ['a.example', { AAAA: ['fd00::1'] }],
  ['a.example', { AAAA: ['fec0::1'] }],
  ['a.example', { AAAA: ['ff02::1'] }],
  ['0177.0.0.1', { A: ['203.0.113.7'] }],
  ['0x7f.1', { A: ['203.0.113.7'] }],
  ['127.0.0.1', {}],
  ['[::1]', {}],
  ['localhost', {}],
  ['a.localhost', {}],
  ['intranet', { A: ['203.0.113.7'] }],
  ['printer.local', { A: ['203.0.113.7'] }],
] as const satisfies [string, Zone][]) {
  test(`sends nothing to a private address: ${host} ${Object.values(zone).flat().join(' ')}`, async (t) => {
    assert.equal(await lookUp(t, host, zone), 'private_address')
  })
}

test('is unreachable without an address in the DNS', async (t) => {
  assert.equal(await lookUp(t, 'a.example'), 'no_address')
  assert.equal(await lookUp(t, 'a.example', { A: 'failure', AAAA: 'failure' }), 'no_address')
})
