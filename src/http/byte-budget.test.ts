import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { eventually } from '../../test/processes.ts'
import { ByteBudget } from './byte-budget.ts'
import type { Exchange } from './exchange.ts'
import { send } from './response.ts'

/** More than the socket buffers of both ends can hold. */
const answer = Buffer.alloc(12_000_000, 'x')
const request = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n'

interface Slow {
  readonly unread: ByteBudget
  /** Connects a client that sends requests and does not read. */
  readonly dial: (requests?: string) => Promise<Socket>
}

async function serve(t: TestContext, maxAnswers: number): Promise<Slow> {
  const unread = new ByteBudget(maxAnswers * answer.length * 1.01)
  let added = 0
  const server = createServer((request, response) => {
    const context = { unread, observer: { ended: () => undefined } }
    send({ request, response, headerFields: [], context } as unknown as Exchange, 200, answer)
    added += 1
  })
  server.listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const dial = async (requests = request) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    t.after(() => socket.destroy())
    const wanted = added + requests.split(request).length - 1
    socket.write(requests)
    await eventually(() => added === wanted)
    return socket
  }
  return { unread, dial }
}

/** Reads until the connection ends or `wanted` bytes have arrived. Resolves with the number of bytes. */
async function readAll(socket: Socket, wanted = Number.POSITIVE_INFINITY): Promise<number> {
  let bytes = 0
  const closed = once(socket, 'close')
  const complete = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes >= wanted) resolve()
    })
  })
  await Promise.race([closed, complete])
  return bytes
}

test('closes the connection that has waited longest when the budget is exceeded, and sends the other responses', async (t) => {
  const { unread, dial } = await serve(t, 9)
  const first = await dial()
  const others: Socket[] = []
  while (others.length < 8) others.push(await dial())
  assert.ok(unread.bytes > 9 * answer.length)
  others.push(await dial())
  assert.ok((await readAll(first)) < answer.length)
  for (const kept of others) assert.ok((await readAll(kept, answer.length)) >= answer.length)
  await eventually(() => unread.bytes === 0)
})

test('counts responses behind others on a connection, and first closes a connection with more than its share', async (t) => {
  const { unread, dial } = await serve(t, 10)
  const modest = await dial()
  const greedy = await dial(request.repeat(10))
  assert.ok((await readAll(greedy)) < 10 * answer.length)
  assert.ok((await readAll(modest, answer.length)) >= answer.length)
  await eventually(() => unread.bytes === 0)
})

test('restarts the waiting time of a connection that has read a response', async (t) => {
  const { unread, dial } = await serve(t, 10)
  const reading = await dial(request.repeat(2))
  const stuck = await dial(request.repeat(2))
  const before = unread.bytes
  // Pauses immediately, because this process could otherwise read both responses on a busy machine.
  const pauseAfterOne = () => unread.bytes < before && reading.pause()
  reading.on('data', pauseAfterOne).resume()
  await eventually(() => reading.isPaused())
  assert.ok(unread.bytes > 3 * answer.length)
  const others: Socket[] = []
  while (others.length < 8) others.push(await dial())
  assert.ok((await readAll(stuck)) < 2 * answer.length)
  for (const socket of [reading, ...others]) assert.equal(socket.destroyed, false)
})

test('stops counting clients that leave', async (t) => {
  const { unread, dial } = await serve(t, 10)
  const sockets = [await dial(), await dial(request.repeat(3))]
  for (const socket of sockets) socket.destroy()
  await eventually(() => unread.bytes === 0)
})

test('closes connections with 64 MiB of unread responses, logs them as aborted, and keeps serving others', async (t) => {
  const app = await startApp()
  app.router.add('GET', '/large', (exchange) => send(exchange, 200, answer))
  const sockets = Array.from({ length: 10 }, () => connect(app.port, '127.0.0.1').on('error', () => undefined))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const socket of sockets) socket.write('GET /large HTTP/1.1\r\nHost: here\r\n\r\n')
  const aborted = () => app.logs.filter((line) => line.aborted === true)
  await eventually(() => aborted().length === 5)
  assert.equal((await app.send('GET', '/api/v1/domains')).status, 200)
  assert.equal(aborted().length, 5)
})
