import assert from 'node:assert/strict'
import { connect, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { eventually } from '../../test/processes.ts'
import { ByteBudget } from './byte-budget.ts'
import { send } from './response.ts'

/** Returns sockets that are not connected, and a budget in which each of them holds ten bytes. */
function holding(count: number, maxBytes: number) {
  const budget = new ByteBudget(maxBytes)
  const sockets = Array.from({ length: count }, () => new Socket())
  for (const socket of sockets) budget.hold(socket, 10)
  const closed = () => sockets.flatMap(({ destroyed }, at) => (destroyed ? [at] : []))
  return { budget, sockets, closed }
}

test('closes the connections that have held bytes longest when the budget is exceeded', () => {
  const { budget, sockets, closed } = holding(10, 100)
  assert.deepEqual([closed(), budget.bytes], [[], 100])
  budget.hold(sockets[9] as Socket, 1)
  assert.deepEqual([closed(), budget.bytes], [[0], 91])
  budget.hold(new Socket(), 10)
  assert.deepEqual([closed(), budget.bytes], [[0, 1], 91])
})

test('first closes a connection with more than an eighth of the budget', () => {
  const { budget, sockets, closed } = holding(10, 100)
  budget.hold(sockets[5] as Socket, 3)
  assert.deepEqual([closed(), budget.bytes], [[5], 90])
})

test('restarts the waiting time of a connection that releases bytes, and ignores closed connections', () => {
  const { budget, sockets, closed } = holding(10, 100)
  budget.release(sockets[0] as Socket, 4)
  budget.hold(new Socket(), 10)
  assert.deepEqual([closed(), budget.bytes], [[1], 96])
  budget.release(sockets[1] as Socket, 10)
  budget.hold(sockets[1] as Socket, 10)
  assert.equal(budget.bytes, 96)
  budget.release(sockets[0] as Socket, 6)
  for (const socket of sockets) budget.release(socket, 10)
  assert.equal(budget.bytes, 10)
})

/** More than the socket buffers of both ends can hold. */
const answer = Buffer.alloc(12_000_000, 'x')

const large = 'GET /large HTTP/1.1\r\nHost: here\r\n\r\n'

async function serveLarge(t: TestContext) {
  const app = await startApp()
  app.router.add('GET', '/large', (exchange) => send(exchange, 200, answer))
  const aborted = () => app.logs.filter((line) => line.aborted === true).length
  /** Sends a request on each of several connections, and reads nothing. */
  const ask = async (count: number) => {
    const sockets = Array.from({ length: count }, () => connect(app.port, '127.0.0.1').on('error', () => undefined))
    t.after(() => {
      for (const socket of sockets) socket.destroy()
    })
    const before = app.measured.counts.underWay
    for (const socket of sockets) socket.write(large)
    await eventually(() => app.measured.counts.underWay === before + count || aborted() > 0)
    return sockets
  }
  return { app, ask, aborted }
}

test('closes connections with 64 MiB of unread responses, logs them as aborted, and keeps serving others', async (t) => {
  const { app, ask, aborted } = await serveLarge(t)
  await ask(10)
  await eventually(() => aborted() === 5)
  assert.equal((await app.send('GET', '/api/v1/domains')).status, 200)
  assert.equal(aborted(), 5)
})

test('stops counting the responses of clients that leave', async (t) => {
  const { ask, aborted } = await serveLarge(t)
  for (const socket of await ask(4)) socket.destroy()
  await eventually(() => aborted() === 4)
  const [first] = await ask(4)
  assert.equal(aborted(), 4)
  let bytes = 0
  first?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  await eventually(() => bytes >= answer.length)
})
