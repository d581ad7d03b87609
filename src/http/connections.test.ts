import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp, type TestApp } from '../../test/app.ts'
import { eventually } from '../../test/processes.ts'

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

/** A client of the largest file there is, several times over, that reads nothing yet; and the server's end of it. */
async function slowReader(t: TestContext, { port }: TestApp): Promise<{ client: Socket; server: Socket }> {
  let server: Socket | undefined
  const accepted = (message: unknown) => {
    server ??= (message as { socket: Socket }).socket
  }
  subscribe('net.server.socket', accepted)
  const [client] = (await idle(t, { port } as TestApp, 1)) as [Socket]
  client.write('GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(12))
  await eventually(async () => Number(server?.writableLength) > 0)
  unsubscribe('net.server.socket', accepted)
  return { client, server: server as Socket }
}

function finishedFiles({ logs }: TestApp): (boolean | undefined)[] {
  return logs.filter(({ route }) => route === '/docs/*').map(({ aborted }) => aborted as boolean | undefined)
}

test('a client that reads slowly gets its answers, and they are logged once it has them', async (t) => {
  const app = await startApp()
  const { client, server } = await slowReader(t, app)
  assert.ok(finishedFiles(app).length < 12)
  client.resume()
  await eventually(async () => finishedFiles(app).length === 12)
  assert.deepEqual(new Set(finishedFiles(app)), new Set([undefined]))
  assert.equal(server.destroyed, false)
})

test('a client that does not read is cut off after 75 seconds without a byte, and its answers count as aborted', async (t) => {
  const app = await startApp()
  const { server } = await slowReader(t, app)
  assert.equal(server.timeout, 75_000)
  server.setTimeout(1)
  await once(server, 'close')
  await eventually(async () => finishedFiles(app).includes(true))
  await eventually(async () => app.measured.counts.underWay === 0)
})
