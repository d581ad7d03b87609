import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { startApp } from '../../test/app.ts'
import { dial } from '../../test/raw-socket.ts'
import { Failure } from '../errors.ts'
import { receiveBody } from './body.ts'
import type { Exchange, Handler, Match } from './exchange.ts'
import { formatProblem } from './failures.ts'
import { Listener } from './listener.ts'
import { Proxies } from './proxies.ts'
import { addHeader, send } from './response.ts'

const faulty: Readonly<Record<string, Handler>> = {
  'throws after its response': (exchange) => {
    send(exchange, 204)
    throw new Error('too late')
  },
  'rejects after its response': async (exchange) => {
    send(exchange, 204)
    throw new Error('too late')
  },
}

for (const [what, handler] of Object.entries(faulty)) {
  test(`204 and one logged error when a handler ${what}`, async () => {
    const app = await startApp({ expectsBugs: true })
    app.router.add('GET', '/faulty', handler)
    const { status } = await app.send('GET', '/faulty')
    assert.equal(status, 204)
    assert.equal((await app.send('GET', '/health')).status, 200)
    assert.deepEqual(bugsOf(app.logs), ['too late'])
    assert.equal(app.logs.filter(({ msg, route }) => msg === 'request' && route === '/faulty').length, 1)
  })
}

test('closes the connection and logs the error for a response with an invalid header', async () => {
  const app = await startApp({ expectsBugs: true })
  app.router.add('GET', '/faulty', (exchange) => {
    addHeader(exchange, 'x-broken', 'one\ntwo')
    return send(exchange, 204)
  })
  assert.deepEqual(await app.raw('GET /faulty HTTP/1.1\r\nHost: x\r\n\r\n'), [])
  assert.equal((await app.send('GET', '/health')).status, 200)
  assert.equal(bugsOf(app.logs).length, 2)
  assert.equal(app.logs.find(({ route }) => route === '/faulty')?.aborted, true)
  assert.equal(app.measured.counts.underWay, 0)
})

function bugsOf(logs: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return logs.filter(({ msg }) => msg === 'internal error').map(({ err }) => (err as Error).message)
}

/** A deadline that no test reaches. */
const never = 3_600_000

type Handle = (request: IncomingMessage, response: ServerResponse, exchange: Exchange) => Promise<void> | void

/** Starts a listener with a single handler. */
async function serve(t: TestContext, handle: Handle): Promise<Listener> {
  const handler: Handler = async (exchange) => {
    await handle(exchange.request, exchange.response, exchange)
    return undefined
  }
  const match: Match = { route: { template: null, handler }, params: {}, query: {} }
  const ignore = () => undefined
  const listener = new Listener({
    matcher: { find: () => match },
    observer: { started: ignore, ended: ignore, rejected: ignore, failed: ignore, crashed: ignore },
    maxConnections: 100,
    proxies: new Proxies(false),
    isSecret: () => false,
    checkHost: () => undefined,
    formatFailure: formatProblem,
  })
  const { server } = listener
  server.listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return listener
}

const get = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n'

/** What Node reports when the time for a request has passed. */
const expiry = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

test('408 for connections that expire together, at most 50 in a tick', async (t) => {
  const listener = await serve(t, () => undefined)
  const accepted: Socket[] = []
  const answers: Promise<unknown[]>[] = []
  while (answers.length < 100) {
    const { client, server } = await dial(t, listener.server)
    accepted.push(server)
    answers.push(once(client, 'data'))
  }
  for (const socket of accepted) listener.server.emit('clientError', expiry, socket)
  let answered = 0
  while (answered < accepted.length) {
    await nextTick()
    const before = answered
    answered = accepted.filter(({ writableEnded }) => writableEnded).length
    assert.ok(answered - before <= 50, `${answered - before} in one tick`)
  }
  for (const [text] of await Promise.all(answers)) assert.match(String(text), /^HTTP\/1\.1 408 /)
})

for (const [what, first, rest, expected] of [
  ['headers', 'POST / HTTP/1.1\r\nHost: here\r\n', '\r\n', ['GET received']],
  [
    'a body',
    'POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\na',
    'b',
    ['POST malformed_request', 'GET received'],
  ],
] as const) {
  test(`does not handle a request whose 408 was sent before the rest of ${what} arrived`, async (t) => {
    const handled: string[] = []
    const listener = await serve(t, async (request, response, exchange) => {
      const body = await receiveBody(exchange, 100)
      handled.push(`${request.method} ${body instanceof Failure ? body.code : 'received'}`)
      response.end('done')
    })
    const { client: socket, server: connection } = await dial(t, listener.server)
    const read = once(connection, 'data')
    socket.write(first)
    await read
    listener.server.emit('clientError', expiry, connection)
    const [answer] = await once(socket, 'data')
    assert.match(answer, /^HTTP\/1\.1 408 /)
    const readRest = once(connection, 'data')
    socket.write(rest)
    await readRest
    const { client: other } = await dial(t, listener.server)
    other.write(get)
    await once(other, 'data')
    assert.deepEqual(handled, expected)
  })
}

test('200 without a 408 for a request that arrives when its time has passed', async (t) => {
  const listener = await serve(t, ({ socket }, response) => {
    listener.server.emit('clientError', expiry, socket)
    response.end('done')
  })
  const { client: socket } = await dial(t, listener.server)
  const answered = conversation(socket)
  await once(socket, 'data')
  await nextTick()
  await listener.drain(never)
  assert.match(await answered, /^HTTP\/1\.1 200 [\s\S]*done$/)
})

test('closes connections with incomplete headers when it stops', async (t) => {
  const listener = await serve(t, () => undefined)
  const { client: socket } = await dial(t, listener.server)
  socket.write('GET / HTTP/1.1\r\nHost: he')
  await Promise.all([listener.drain(never), once(socket, 'close')])
})

test('finishes a response that it has started', async (t) => {
  const listener = await serve(t, (_, response) => {
    response.write('first ')
    void listener.drain(never)
    response.end('second')
  })
  assert.match(await conversation((await dial(t, listener.server)).client), /first [\s\S]*second/)
})

test('closes connections at the deadline', async (t) => {
  const listener = await serve(t, () => void listener.drain(500))
  const begun = performance.now()
  assert.equal(await conversation((await dial(t, listener.server)).client), '')
  const took = performance.now() - begun
  assert.ok(took > 450, `${took} ms`)
})

/** Sends a request. Resolves with all received text when the server has closed the connection. */
async function conversation(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  socket.write(get)
  await once(socket, 'close')
  return text
}
