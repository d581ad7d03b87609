import type { Failure } from '../errors.ts'
import { addHeader, send } from './answer.ts'
import type { Exchange, Handler } from './exchange.ts'
import { failureOf } from './problem.ts'

/** Has `handler` answer the exchange. Answers the failure that it returns, and whatever it throws. */
export async function attempt(exchange: Exchange, handler: Handler): Promise<void> {
  try {
    const failure = await handler(exchange)
    if (failure !== undefined) fail(exchange, failure)
  } catch (error) {
    fail(exchange, error)
  }
}

/** Answers with a failure. Any other error becomes `internal_error`, and is logged. */
export function fail(exchange: Exchange, error: unknown): void {
  const { log, onFailure } = exchange.surroundings
  const failure = failureOf(error)
  if (failure.code === 'internal_error') log.bug(exchange.id, error)
  else if (failure.facts.cause !== undefined) log.trouble(exchange.id, failure)
  // An error after the answer, or after another failure, can only be logged.
  if (exchange.response.headersSent || exchange.failure !== null) return
  exchange.failure = failure.code
  onFailure?.(exchange)
  // Deferred, so that refusals of one tick are written together.
  setImmediate(sendFailure, exchange, failure)
}

function sendFailure(exchange: Exchange, failure: Failure): void {
  const { response, route, surroundings } = exchange
  if (response.headersSent) return
  const word = route.word ?? surroundings.word
  const { status, headers, body } = word(failure, exchange.id, exchange.headers.accept)
  for (const name in headers) addHeader(exchange, name, headers[name] as string)
  try {
    send(exchange, status, body)
  } catch (error) {
    // One of the fields that a handler added before it failed cannot be written.
    surroundings.log.bug(exchange.id, error)
    response.destroy()
    surroundings.log.ended(exchange, true)
  }
}
