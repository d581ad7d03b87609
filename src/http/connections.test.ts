import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp, type TestApp } from '../../test/app.ts'
import { eventually } from '../../test/processes.ts'
import type { Storage } from '../storage/port.ts'
import { send } from './answer.ts'

const most = 20
const path = '/api/v1/domains'

/** Connections that say nothing. */
async function idle(t: TestContext, { port }: TestApp, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

test('503 overloaded on a connection past the limit, which is closed; 200 once others have closed', async (t) => {
  const app = await startApp({ mostConnections: most })
  const [first] = await idle(t, app, most)
  const request = `GET ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${app.key}\r\n\r\n`
  await eventually(async () => {
    const [answer] = await app.raw(request)
    return answer?.status === 503
  })
  const [answer] = await app.raw(request)
  assert.deepEqual([answer?.status, answer?.body.code], [503, 'overloaded'])
  assert.deepEqual([answer?.headers.connection, answer?.headers['retry-after']], ['close', '1'])
  const [health] = await app.raw('GET /health HTTP/1.1\r\nHost: here\r\n\r\n')
  assert.deepEqual([health?.status, health?.headers.connection], [200, 'close'])

  first?.destroy()
  await eventually(
    async () => (await app.raw(request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')))[0]?.status === 200,
  )
})

test('a flood of connections is cut off, and those that were there first are served', async (t) => {
  const app = await startApp({ mostConnections: most })
  const [early] = await idle(t, app, most)
  const flood = Array.from({ length: 500 }, () => connect(app.port, '127.0.0.1').on('error', () => undefined))
  t.after(() => {
    for (const socket of flood) socket.destroy()
  })
  await Promise.all(flood.slice(most).map((socket) => once(socket, 'close')))

  early?.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${app.key}\r\n\r\n`)
  const [bytes] = await once(early as Socket, 'data')
  assert.match(String(bytes), /^HTTP\/1\.1 200 /)
})

interface Connection {
  readonly client: Socket
  /** The same connection, as the server has it. */
  readonly server: Socket
}

async function bothEnds(t: TestContext, app: TestApp): Promise<Connection> {
  const accepted = Promise.withResolvers<Socket>()
  const listener = (message: unknown) => accepted.resolve((message as { socket: Socket }).socket)
  subscribe('net.server.socket', listener)
  const [client] = (await idle(t, app, 1)) as [Socket]
  const server = await accepted.promise
  unsubscribe('net.server.socket', listener)
  return { client, server }
}

const large = Buffer.alloc(2 ** 20)

/** A client that asks for more than the system buffers, and reads nothing yet. */
async function slowReader(t: TestContext, app: TestApp): Promise<Connection> {
  app.routes.add(['GET'], '/large', (exchange) => send(exchange, 200, large))
  const { client, server } = await bothEnds(t, app)
  client.write('GET /large HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(12))
  await eventually(async () => server.writableLength > 0)
  return { client, server }
}

function finishedAnswers({ logs }: TestApp): (boolean | undefined)[] {
  return logs.filter(({ route }) => route === '/large').map(({ aborted }) => aborted as boolean | undefined)
}

test('a client that reads slowly gets its answers, and they are logged once it has them', async (t) => {
  const app = await startApp()
  const { client, server } = await slowReader(t, app)
  assert.ok(finishedAnswers(app).length < 12)
  client.resume()
  await eventually(async () => finishedAnswers(app).length === 12)
  assert.deepEqual(new Set(finishedAnswers(app)), new Set([undefined]))
  assert.equal(server.destroyed, false)
})

test('a client that does not read is cut off, after 75 seconds at the earliest, and its answers count as aborted', async (t) => {
  const app = await startApp()
  const { server } = await slowReader(t, app)
  assert.equal(server.timeout, 75_000)
  server.setTimeout(1)
  await once(server, 'close')
  await eventually(async () => finishedAnswers(app).includes(true))
  await eventually(async () => app.measured.counts.underWay === 0)
})

function post({ key }: TestApp, body: string, length = body.length): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json`
  return `${head}\r\nContent-Length: ${length}\r\n\r\n${body}`
}

test('answers that a connection does not take any more count as aborted, each once', async (t) => {
  const app = await startApp()
  const count = 100
  for (let n = 0; n < count; n++) {
    const [client] = (await idle(t, app, 1)) as [Socket]
    // A refusal is sent before the server looks at the connection again.
    client.write(`GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`, () => client.resetAndDestroy())
  }
  const ended = () => app.logs.filter(({ status }) => status === 401)
  await eventually(async () => ended().length === count && app.measured.counts.underWay === 0)
  const aborted = ended().filter(({ aborted }) => aborted === true)
  assert.ok(aborted.length > count / 2, `${aborted.length} of ${count} count as aborted`)
})

for (const [what, length] of [
  ['in the middle of', 100],
  ['behind', undefined],
] as const) {
  test(`a client that leaves ${what} its body, while its key is looked up, counts as aborted`, async (t) => {
    const { promise: release, resolve: letGo } = Promise.withResolvers<void>()
    let lookUps = 0
    const slow = (real: Storage): Storage =>
      Object.create(real, {
        all: {
          value: async (...args: Parameters<Storage['all']>) => {
            lookUps += 1
            await release
            return real.all(...args)
          },
        },
      })
    const app = await startApp({ storage: slow })
    const { client, server } = await bothEnds(t, app)
    client.write(post(app, '{"name":"left.example.com"}', length))
    await eventually(async () => lookUps === 1)
    const left = new Promise((resolve) => server.once('close', resolve))
    client.resetAndDestroy()
    await left
    letGo()
    await eventually(async () => app.logs.some(({ method, aborted }) => method === 'POST' && aborted === true))
    assert.equal(app.measured.counts.underWay, 0)
  })
}
