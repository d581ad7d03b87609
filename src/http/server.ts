import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { awaitedResponse } from './connections.ts'
import { Exchange, type Finder, type Surroundings } from './exchange.ts'
import { attempt, fail } from './failing.ts'
import { type Gate, refusalAt } from './gate.ts'
import { createServer } from './node-http.ts'
import { answerSocketErrors } from './socket-errors.ts'
import { maxHeadBytes, takeOriginForm } from './target.ts'

/** Time in which headers and whole requests must arrive, and for which an idle connection stays open. Milliseconds. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 72_000 }

/** Bytes that a pipelined request takes in memory while it waits, about. */
const waitingRequestBytes = 4_096

/** All that the kernel must know of a listener. */
export interface ListenerParts {
  readonly finder: Finder
  readonly gate: Gate
  readonly surroundings: Surroundings
}

/** Makes the server of a listener, which has yet to listen. Every request passes the gate before its route. */
export function createListener({ finder, gate, surroundings }: ListenerParts): Server {
  const options = {
    ...timeouts,
    connectionsCheckingInterval: 1_000,
    requireHostHeader: false,
    maxHeaderSize: maxHeadBytes,
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    takeOriginForm(request)
    const match = finder.find(request.method as string, request.url as string)
    const exchange = new Exchange(surroundings, request, response, match)
    surroundings.log.began()
    surroundings.onArrival?.(exchange)
    const refusal = refusalAt(gate, exchange)
    if (refusal === undefined) void attempt(exchange, match.route.handler)
    else fail(exchange, refusal)
  }
  const server = createServer(options, (request, response) => {
    const { socket } = request
    const earlier = awaitedResponse(socket)
    if (earlier === undefined) return serve(request, response)
    // One request of a connection at a time, each in a turn of its own: a packet of hundreds must not hold up the others.
    surroundings.unfinished.hold(socket, waitingRequestBytes)
    earlier.once('close', () => {
      surroundings.unfinished.release(socket, waitingRequestBytes)
      setImmediate(() => socket.writable && serve(request, response))
    })
  })
  gate.connections.watch(server)
  answerSocketErrors(server, surroundings)
  return server
}
