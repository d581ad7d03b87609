import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test as testOf } from 'node:test'
import { followResponses, Traffic } from './drain.ts'

/** A deadline that no test reaches: what ends, ends for another reason. */
const never = 3_600_000

const test = (promise: string, work: (t: TestContext) => Promise<void>) => testOf(promise, { timeout: 30_000 }, work)

async function serve(
  t: TestContext,
  answer: RequestListener,
): Promise<{ traffic: Traffic; dial: () => Promise<Socket> }> {
  const server = createServer(answer)
  followResponses(server)
  server.listen(0, '127.0.0.1')
  t.after(() => server.closeAllConnections())
  const traffic = new Traffic(server)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const dial = async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  return { traffic, dial }
}

const get = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n'

test('a server without connections stops at once', async (t) => {
  const { traffic } = await serve(t, () => undefined)
  const later = new Promise((resolve) => setImmediate(resolve, 'later'))
  assert.equal(await Promise.race([traffic.stop(never), later]), undefined)
})

test('an idle connection may bring one more request while the server stops', async (t) => {
  const { traffic, dial } = await serve(t, (_, response) => response.setHeader('connection', 'close').end('late'))
  const socket = await dial()
  const stopped = traffic.stop(never)
  socket.write(get)
  const [text] = await once(socket, 'data')
  assert.match(text, /late/)
  await stopped
})

test('an idle connection that brings nothing is not awaited', async (t) => {
  const { traffic, dial } = await serve(t, () => undefined)
  const socket = await dial()
  await Promise.all([traffic.stop(never), once(socket, 'close')])
})

test('a request under way is awaited, and its connection is closed behind it', async (t) => {
  const order: string[] = []
  const { traffic, dial } = await serve(t, (_, response) => {
    response.once('finish', () => order.push('answered'))
    setTimeout(() => response.end('done'), 600)
    void traffic.stop(never).then(() => order.push('stopped'))
  })
  const socket = await dial()
  const text = await conversation(socket)
  assert.match(text, /connection: close[\s\S]*done$/i)
  assert.deepEqual(order, ['answered', 'stopped'])
})

test('an answer that has begun goes on to its end', async (t) => {
  const { traffic, dial } = await serve(t, (_, response) => {
    response.write('first ')
    void traffic.stop(never)
    response.end('second')
  })
  assert.match(await conversation(await dial()), /first [\s\S]*second/)
})

test('what takes longer than the deadline is cut', async (t) => {
  const { traffic, dial } = await serve(t, () => void traffic.stop(500))
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
