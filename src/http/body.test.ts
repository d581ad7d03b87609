import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { signedIn } from '../../test/dashboard.ts'
import { eventually } from '../../test/processes.ts'
import { listenOn } from '../../test/servers.ts'
import { Failure } from '../errors.ts'
import { receiveBody } from './body.ts'
import { ByteBudget } from './byte-budget.ts'
import type { Exchange } from './exchange.ts'

/** Half of a body, in one packet with the head. */
const half = 'x'.repeat(1_000)
const unfinished = `POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2000\r\n\r\n${half}`
/** What half a body counts. */
const counted = 1_000

interface Receiving {
  readonly bodies: ByteBudget
  /** The result of each request in the order of their ends: the length of the body, or the code of the failure. */
  readonly results: (number | string)[]
  /** Connects and sends the text. Resolves when the server has begun to receive the body. */
  readonly send: (text: string) => Promise<Socket>
}

/** A server that receives bodies of at most 10,000 bytes, with this budget for unfinished ones. */
async function receive(t: TestContext, maxBytes: number): Promise<Receiving> {
  const bodies = new ByteBudget(maxBytes)
  const results: (number | string)[] = []
  let begun = 0
  const server = createServer(async (request, response) => {
    const exchange = {
      request,
      response,
      headers: request.headers,
      headerFields: [],
      context: { unfinished: bodies },
    }
    const received = receiveBody(exchange as unknown as Exchange, 10_000)
    request.once('data', () => {
      begun += 1
    })
    const body = await received
    results.push(body instanceof Failure ? body.code : body.length)
    response.end()
  })
  const port = await listenOn(t, server)
  const send = async (text: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    t.after(() => socket.destroy())
    const wanted = begun + 1
    socket.resume().write(text)
    await eventually(() => begun === wanted)
    return socket
  }
  return { bodies, results, send }
}

test('counts a body of one-byte chunks with at most twice its size, and receives it completely', async (t) => {
  const { bodies, results, send } = await receive(t, 20 * counted)
  const head = 'POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n'
  const socket = await send(head + '1\r\nx\r\n'.repeat(700))
  await eventually(() => bodies.bytes >= 700)
  assert.ok(bodies.bytes <= 1_400, String(bodies.bytes))
  socket.write('0\r\n\r\n')
  await eventually(() => results.length === 1)
  assert.deepEqual([results, bodies.bytes], [[700], 0])
})

test('stops counting a body that is complete or too large, or whose client has left', async (t) => {
  const { bodies, results, send } = await receive(t, 20 * counted)
  const complete = await send(unfinished)
  complete.write(half)
  await eventually(() => results.length === 1)
  const large = await send(
    unfinished.replace(/Content-Length: 2000\r\n\r\n/, 'Transfer-Encoding: chunked\r\n\r\n3E8\r\n'),
  )
  assert.equal(bodies.bytes, counted)
  large.write(`\r\n2710\r\n${'x'.repeat(10_000)}`)
  await eventually(() => results.length === 2)
  const leaving = await send(unfinished)
  assert.equal(bodies.bytes, counted)
  leaving.destroy()
  await eventually(() => results.length === 3)
  assert.deepEqual(results, [2_000, 'body_too_large', 'malformed_request'])
  assert.equal(bodies.bytes, 0)
})

test('the app closes connections with unfinished forms at 32 MiB, logs them as aborted, and keeps serving others', async () => {
  const app = await startApp()
  const browser = await signedIn(app)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const length = 160 * 1024
  const head = `POST /app/spaces HTTP/1.1\r\nHost: here\r\nCookie: ${cookie}\r\nSec-Fetch-Site: same-origin\r\n`
  const form = `${head}Content-Length: ${length}\r\n\r\n${'x'.repeat(length - 1)}`
  const sockets: Socket[] = []
  const open = () => {
    const socket = connect(app.port, '127.0.0.1').on('error', () => undefined)
    // A busy machine sheds load.
    socket.on('data', (chunk) => String(chunk).startsWith('HTTP/1.1 503 ') && open())
    socket.write(form)
    sockets.push(socket)
  }
  for (let n = 0; n < 220; n++) open()
  const aborted = () => app.logs.filter((line) => line.aborted === true).length
  await eventually(() => aborted() >= 16)
  assert.equal((await app.send('POST', '/api/v1/spaces', { form: { name: 'Sales' } })).status, 201)
  assert.ok(aborted() < 30, String(aborted()))
  for (const socket of sockets) socket.destroy()
})
