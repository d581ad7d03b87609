import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test as testOf } from 'node:test'
import { Connections } from './connections.ts'
import { Drain } from './drain.ts'

/** A deadline that no test reaches: what ends, ends for another reason. */
const never = 3_600_000

const test = (promise: string, work: (t: TestContext) => Promise<void>) => testOf(promise, { timeout: 30_000 }, work)

interface Served {
  readonly drain: Drain
  readonly stop: (deadlineMs: number) => Promise<void>
  readonly dial: () => Promise<Socket>
}

async function serve(t: TestContext, answer: RequestListener): Promise<Served> {
  const server = createServer(answer)
  const connections = new Connections(100)
  connections.watch(server)
  const drain = new Drain(connections)
  server.listen(0, '127.0.0.1')
  t.after(() => server.closeAllConnections())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const dial = async () => {
    const accepted = once(server, 'connection')
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    await Promise.all([once(socket, 'connect'), accepted])
    return socket
  }
  return { drain, stop: (deadlineMs) => drain.stop(server, deadlineMs), dial }
}

const get = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n'

test('a server without connections stops at once', async (t) => {
  const { stop } = await serve(t, () => undefined)
  const later = new Promise((resolve) => setImmediate(resolve, 'later'))
  assert.equal(await Promise.race([stop(never), later]), undefined)
})

test('an idle connection may bring one more request while the server stops', async (t) => {
  const { stop, dial } = await serve(t, (_, response) => response.setHeader('connection', 'close').end('late'))
  const socket = await dial()
  const stopped = stop(never)
  socket.write(get)
  const [text] = await once(socket, 'data')
  assert.match(text, /late/)
  await stopped
})

test('an idle connection that brings nothing is not awaited', async (t) => {
  const { stop, dial } = await serve(t, () => undefined)
  const socket = await dial()
  await Promise.all([stop(never), once(socket, 'close')])
})

test('a listener says that it drains from the moment that it is told to stop', async (t) => {
  const { drain, stop } = await serve(t, () => undefined)
  assert.equal(drain.isDraining, false)
  const stopped = stop(never)
  assert.equal(drain.isDraining, true)
  await stopped
})

test('a connection is refused from the moment that the server is told to stop', async (t) => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>()
  const { stop, dial } = await serve(t, (_, response) => arrive(response))
  const answered = conversation(await dial())
  const response = await arrived
  const stopped = stop(never)
  await assert.rejects(dial(), { code: 'ECONNREFUSED' })
  response.end('done')
  assert.match(await answered, /done$/)
  await stopped
})

test('headers that are never completed are not awaited', async (t) => {
  const { stop, dial } = await serve(t, () => undefined)
  const socket = await dial()
  socket.write('GET / HTTP/1.1\r\nHost: he')
  await Promise.all([stop(never), once(socket, 'close')])
})

test('a request under way is awaited, and its connection is closed behind it', async (t) => {
  const order: string[] = []
  const { stop, dial } = await serve(t, (_, response) => {
    response.once('finish', () => order.push('answered'))
    setTimeout(() => response.end('done'), 600)
    setImmediate(() => void stop(never).then(() => order.push('stopped')))
  })
  const socket = await dial()
  const text = await conversation(socket)
  assert.match(text, /connection: close[\s\S]*done$/i)
  assert.deepEqual(order, ['answered', 'stopped'])
})

test('an answer that has begun goes on to its end', async (t) => {
  const { stop, dial } = await serve(t, (_, response) => {
    response.write('first ')
    void stop(never)
    response.end('second')
  })
  assert.match(await conversation(await dial()), /first [\s\S]*second/)
})

test('what takes longer than the deadline is cut', async (t) => {
  const { stop, dial } = await serve(t, () => void stop(500))
  const begun = performance.now()
  assert.equal(await conversation(await dial()), '')
  const took = performance.now() - begun
  assert.ok(took > 450, `${took} ms`)
})

/** Sends one request, and resolves with all that came back until the server closed the connection. */
async function conversation(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  socket.write(get)
  await once(socket, 'close')
  return text
}
