import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp, type TestApp } from '../../test/app.ts'
import { eventually } from '../../test/processes.ts'
import { dial as dialTo } from '../../test/raw-socket.ts'
import { sendJson } from './response.ts'

const limit = 20
const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`

interface Crowd {
  readonly app: TestApp
  /** Opens a connection without sending anything. */
  readonly dial: (localAddress?: string) => Promise<Socket>
  /** Opens connections, one after another. */
  readonly dialMany: (count: number, localAddress?: string) => Promise<Socket[]>
  /** Keeps a request running on each connection until `finish`. */
  readonly occupy: (sockets: readonly Socket[]) => Promise<void>
  readonly finish: () => void
}

/** Starts an app with a connection limit, and two paths: /fast, and /slow, which waits for `finish`. */
async function crowd(t: TestContext, maxConnections = limit): Promise<Crowd> {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  const sockets: Socket[] = []
  // Before the app ends, which waits for its requests and its busy connections.
  t.after(() => {
    finish()
    for (const socket of sockets) socket.destroy()
  })
  const app = await startApp({ maxConnections })
  let underWay = 0
  app.router.add('GET', '/fast', (exchange) => sendJson(exchange, 200, '{}'))
  app.router.add('GET', '/slow', async (exchange) => {
    underWay += 1
    await finished
    return sendJson(exchange, 200, '{}')
  })
  const dial = async (localAddress = '127.0.0.1') => {
    const { client } = await dialTo(t, app.listener.server, { localAddress })
    sockets.push(client)
    // A socket that nothing reads does not see its end.
    return client.resume()
  }
  const dialMany = async (count: number, localAddress?: string) => {
    const dialed: Socket[] = []
    while (dialed.length < count) dialed.push(await dial(localAddress))
    return dialed
  }
  const occupy = async (sockets: readonly Socket[]) => {
    const wanted = underWay + sockets.length
    for (const socket of sockets) socket.write(request('/slow'))
    await eventually(() => underWay === wanted)
  }
  return { app, dial, dialMany, occupy, finish }
}

/** Sends a request. Resolves with the first part of the response, or null if the connection is closed. */
async function ask(socket: Socket, path = '/fast'): Promise<string | null> {
  for (;;) {
    if (socket.destroyed) return null
    const closed = new Promise<[null]>((resolve) => socket.once('close', () => resolve([null])))
    const received = once(socket, 'data') as Promise<[string]>
    socket.write(request(path))
    const [text] = await Promise.race([received, closed])
    // A busy machine sheds load, which is not a response to too many connections.
    if (!text?.includes('server is overloaded')) return text
  }
}

const isServed = async (socket: Socket) => (await ask(socket))?.startsWith('HTTP/1.1 200 ') ?? false
const isClosed = async (socket: Socket) => socket.closed || (await once(socket, 'close').then(() => true))

test('200 on a new connection to a full server, which closes the longest idle connection', async (t) => {
  const { dial, dialMany } = await crowd(t)
  const [first, second, ...others] = (await dialMany(limit)) as [Socket, Socket, ...Socket[]]
  assert.ok(await isServed(first))
  const newcomer = await dial()
  assert.ok(await isServed(newcomer))
  assert.ok(await isClosed(second))
  for (const socket of [first, newcomer, ...others]) assert.ok(await isServed(socket))
})

const incomplete = {
  headers: () => 'GET /fast HTTP/1.1\r\nHost: he',
  'a body': (key: string) =>
    `POST /api/v1/spaces HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
}

for (const [what, request] of Object.entries(incomplete)) {
  test(`treats a connection that has not sent all of ${what} as idle`, async (t) => {
    const { app, dial, dialMany } = await crowd(t)
    const [partial, ...others] = (await dialMany(limit)) as [Socket, ...Socket[]]
    partial.write(request(app.key))
    for (const socket of others) assert.ok(await isServed(socket))
    assert.ok(await isServed(await dial()))
    assert.ok(await isClosed(partial))
    for (const socket of others) assert.ok(await isServed(socket))
  })
}

test('serves pipelined requests one after another', async (t) => {
  const { app, finish } = await crowd(t)
  const served: string[] = []
  app.router.add('GET', '/second', (exchange) => {
    served.push('second')
    return sendJson(exchange, 200, '{}')
  })
  app.router.add('GET', '/first', (exchange) => {
    served.push('first')
    setImmediate(() => {
      served.push('first answered')
      void sendJson(exchange, 200, '{}')
    })
  })
  const last = request('/second').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const answers = await app.raw(request('/first') + request('/second') + last)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.deepEqual(served, ['first', 'first answered', 'second', 'second'])
  finish()
})

test('closes connections when their pipelined requests hold too much memory, and serves the others', async (t) => {
  const { dialMany, dial, finish } = await crowd(t, 100)
  const modest = await dial()
  modest.write(request('/slow'))
  const greedy = await dialMany(12)
  for (const socket of greedy) socket.write(request('/slow') + request('/fast').repeat(1_000))
  await eventually(() => greedy.some(({ destroyed }) => destroyed))
  assert.ok(await isServed(await dial()))
  const answered = once(modest, 'data')
  finish()
  assert.match(String(await answered), /^HTTP\/1\.1 200 /)
  assert.ok(greedy.some(({ destroyed }) => !destroyed))
})

test('skips pipelined requests after the client has left', async (t) => {
  const { app, dial, finish } = await crowd(t)
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  let served = 0
  app.router.add('GET', '/held', async ({ response }) => {
    start()
    await once(response, 'close')
    leave()
  })
  app.router.add('GET', '/next', (exchange) => {
    served += 1
    return sendJson(exchange, 200, '{}')
  })
  const socket = await dial()
  socket.write(request('/held') + request('/next'))
  await started
  socket.destroy()
  await left
  assert.ok(await isServed(await dial()))
  assert.equal(served, 0)
  finish()
})

test('503 overloaded on a new connection, which is closed, while all others are busy', async (t) => {
  const { app, dial, dialMany, occupy, finish } = await crowd(t)
  const busy = await dialMany(limit)
  await occupy(busy)
  const [answer] = await app.raw(request('/fast'))
  assert.deepEqual([answer?.status, answer?.body.code], [503, 'overloaded'])
  assert.deepEqual([answer?.headers.connection, answer?.headers['retry-after']], ['close', '1'])
  const [health] = await app.raw(request('/health'))
  assert.deepEqual([health?.status, health?.headers.connection], [200, 'close'])

  const answers = busy.map((socket) => once(socket, 'data') as Promise<[string]>)
  finish()
  for (const answered of answers) assert.match((await answered)[0], /^HTTP\/1\.1 200 /)
  await eventually(async () => await isServed(await dial()))
})

test('closes a flood of connections immediately, and finishes current requests', async (t) => {
  const { app, dialMany, occupy, finish } = await crowd(t)
  const busy = await dialMany(limit)
  await occupy(busy)
  const flood = Array.from({ length: 500 }, () => connect(app.port, '127.0.0.1').on('error', () => undefined))
  t.after(() => {
    for (const socket of flood) socket.destroy()
  })
  await Promise.all(flood.slice(limit).map((socket) => once(socket, 'close')))

  const answers = busy.map((socket) => once(socket, 'data') as Promise<[string]>)
  finish()
  for (const answered of answers) assert.match((await answered)[0], /^HTTP\/1\.1 200 /)
})

test('serves an address while another one opens any number of idle connections', async (t) => {
  const { dial, dialMany } = await crowd(t)
  const other = await dialMany(2, '127.0.0.2')
  const flood = await dialMany(300, '127.0.0.1')
  // They are older than the flood, and stay open.
  for (const socket of other) assert.ok(await isServed(socket))
  for (let n = 0; n < 10; n++) assert.ok(await isServed(await dial('127.0.0.2')))
  assert.ok(await isServed(flood.at(-1) as Socket))
})

test('rejects new connections of an address with more than its share if all of them are busy', async (t) => {
  const { dial, dialMany, occupy } = await crowd(t)
  await occupy(await dialMany(limit - 3, '127.0.0.1'))
  const other = await dialMany(3, '127.0.0.2')
  assert.match(String(await ask(await dial('127.0.0.1'))), /^HTTP\/1\.1 503 /)
  for (const socket of other) assert.ok(await isServed(socket))
  // Other addresses still make room for themselves.
  assert.ok(await isServed(await dial('127.0.0.2')))
  assert.ok(await isClosed(other[0] as Socket))
})
