import type { Server } from 'node:http'
import { Exchange, type Surroundings } from './exchange.ts'
import { attempt, fail } from './failing.ts'
import { type Gate, refusalAt, takeOriginForm } from './gate.ts'
import { createServer } from './node-http.ts'
import type { Routes } from './router.ts'
import { answerSocketErrors } from './socket-errors.ts'

/** How long headers and whole requests may take to arrive, and an idle connection stays open. Milliseconds. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 72_000 }

/** The server of the API, which has yet to listen. `gate` is asked before any route. */
export function apiServer(routes: Routes, surroundings: Surroundings, gate: Gate): Server {
  const options = {
    ...timeouts,
    connectionsCheckingInterval: 1_000,
    requireHostHeader: false,
    maxHeaderSize: 32 * 1024,
  }
  const server = createServer(options, (request, response) => {
    takeOriginForm(request)
    const match = routes.find(request.method as string, request.url as string)
    const exchange = new Exchange(surroundings, request, response, match)
    surroundings.log.began()
    const refusal = refusalAt(gate, exchange)
    if (refusal === undefined) attempt(exchange, match.route.handler)
    else fail(exchange, refusal)
  })
  gate.connections.watch(server)
  answerSocketErrors(server, surroundings.log)
  return server
}
