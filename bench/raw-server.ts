/**
 * The raw server: plain `node:http`. It reads the request body, and sends the response that it received over IPC.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'

/** A response of Waymark, without the headers that Node adds. */
export interface Answer {
  readonly status: number
  /** Alternating names and values. */
  readonly headers: readonly string[]
  readonly body: string
}

let answer: Answer = { status: 200, headers: [], body: '' }

const server = createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
  if (request.method === 'GET' || request.method === 'DELETE') return send(response)
  request.on('end', () => send(response))
  request.resume()
})

function send(response: ServerResponse): void {
  response.writeHead(answer.status, answer.headers as string[])
  response.end(answer.body)
}

process.on('message', async (message) => {
  if (message === 'usage') return
  answer = message as Answer
  if (!server.listening) await once(server, 'listening')
  process.send?.('ready')
})

server.listen(Number(process.argv[2]), '127.0.0.1')
