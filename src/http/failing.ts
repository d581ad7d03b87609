import type { Failure } from '../errors.ts'
import { addHeader, send } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { failureOf, problemOf } from './problem.ts'
import type { Handler } from './router.ts'

/** Has the exchange answered. Whatever the handler throws, or rejects with, becomes the answer. */
export function attempt(exchange: Exchange, handler: Handler): void {
  try {
    handler(exchange)?.then(undefined, (error) => fail(exchange, error))
  } catch (error) {
    fail(exchange, error)
  }
}

/** Answers with a failure, or with `internal_error` for any other error; that one is logged. */
export function fail(exchange: Exchange, error: unknown): void {
  const { log, rateLimits } = exchange.surroundings
  const failure = failureOf(error)
  if (failure.code === 'internal_error') log.bug(exchange.id, error)
  else if (failure.facts.cause !== undefined) log.trouble(exchange.id, failure)
  // What goes wrong behind an answer, or behind another failure, cannot be answered.
  if (exchange.response.headersSent || exchange.failure !== null) return
  exchange.failure = failure.code
  rateLimits.announceAddress(exchange)
  // At the end of the turn: answers that leave together wake whoever waits for them once, and waking takes longest.
  setImmediate(sendFailure, exchange, failure)
}

function sendFailure(exchange: Exchange, failure: Failure): void {
  const { response, surroundings } = exchange
  if (response.headersSent) return
  const { status, headers, body } = problemOf(failure, exchange.id, exchange.headers.accept)
  for (const name in headers) addHeader(exchange, name, headers[name] as string)
  try {
    send(exchange, status, body)
  } catch (error) {
    // Among the fields that a handler had added before it failed there is one that cannot be written.
    surroundings.log.bug(exchange.id, error)
    response.destroy()
    surroundings.log.ended(exchange, true)
  }
}
