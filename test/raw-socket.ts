/** Sends requests as raw bytes. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Answer, answerOf } from './client.ts'

/** Longer than the server's time limits for these connections, even on a busy machine. Milliseconds. */
const patienceMs = 300_000

/** Both ends of a connection. */
export interface Connection {
  readonly client: Socket
  readonly server: Socket
}

/** Connects to a server of this process. The connection ends with the test. */
export async function dial(
  t: Pick<TestContext, 'after'>,
  to: Server,
  options: { readonly allowHalfOpen?: boolean; readonly localAddress?: string } = {},
): Promise<Connection> {
  const { port } = to.address() as AddressInfo
  const accepted = once(to, 'connection')
  const client = connect({ host: '127.0.0.1', port, noDelay: true, ...options }).on('error', () => undefined)
  t.after(() => client.destroy())
  const [[server]] = await Promise.all([accepted, once(client, 'connect')])
  return { client: client.setEncoding('latin1'), server: server as Socket }
}

/** Writes the parts, if possible in separate packets, and reads responses until the server closes the connection. */
export async function exchange(port: number, parts: readonly (string | Buffer)[]): Promise<Answer[]> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const received = readToEnd(socket)
  for (const part of parts) {
    // The server may respond and close the connection before everything is written.
    if (socket.destroyed) break
    await new Promise((written) => socket.write(part, written))
    // A server in this process reads the part in the next event-loop tick.
    await nextTurn()
  }
  return answersIn(await received)
}

function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  socket.setTimeout(patienceMs, () => socket.destroy())
  return new Promise((resolve, reject) => {
    let isTimedOut = false
    socket.on('timeout', () => {
      isTimedOut = true
    })
    socket.on('close', () => {
      if (isTimedOut) reject(new Error(`The server kept the connection open. It said: ${Buffer.concat(chunks)}`))
      else resolve(Buffer.concat(chunks))
    })
  })
}

/** Parses responses with a Content-Length or without a body. */
function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`Not an HTTP answer: ${rest.toString('latin1')}`)
    const [first = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Z]/.exec(first)?.[1] ?? Number.NaN)
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const next = end + 4 + Number(headers['content-length'] ?? 0)
    answers.push(answerOf(status, headers, rest.toString('utf8', end + 4, next)))
    rest = rest.subarray(next)
  }
  return answers
}
