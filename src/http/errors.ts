import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, Failure } from '../errors.ts'
import { addHeader, beginAnswer, send } from './answer.ts'
import { failureOf, problemOf } from './problem.ts'
import type { RateLimits } from './rate-limit.ts'
import type { RequestLog } from './request-log.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the failure that was answered; null when there was none. */
    failure: ErrorCode | null
  }
}

/** Where whatever a hook or a handler throws leaves as a response. */
export function answerErrors(app: FastifyInstance, log: RequestLog, rateLimits: RateLimits): void {
  app.setErrorHandler((error, request, reply) => {
    const failure = failureOf(translated(error))
    if (failure.code === 'internal_error') log.bug(request.id, error)
    else if (failure.facts.cause !== undefined) log.trouble(request.id, failure)
    rateLimits.announceAddress(request, reply)
    // At the end of the turn: answers that leave together wake whoever waits for them once, and waking takes longest.
    setImmediate(sendFailure, reply, request, failure)
  })
}

/** Fastify's `frameworkErrors`: what it refuses before any hook runs, such as a path that cannot be decoded. */
export function onFrameworkError(log: RequestLog, rateLimits: RateLimits) {
  return async (error: FastifyError, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const failure = failureOf(translated(error))
    // Not decorated yet.
    request.caller = null
    log.began(request)
    beginAnswer(reply, request.id)
    rateLimits.announceAddress(request, reply)
    sendFailure(reply, request, failure)
  }
}

function sendFailure(reply: FastifyReply, request: FastifyRequest, failure: Failure): void {
  const { status, headers, body } = problemOf(failure, request.id, request.headers.accept)
  request.failure = failure.code
  for (const name in headers) addHeader(reply, name, headers[name] as string)
  send(reply, status, body)
}

/** Fastify's own errors, in our words. */
const ofFastify: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_BAD_URL: ['malformed_url', 'The path of the URL is malformed: check its percent-encoding.'],
  FST_ERR_MAX_PARAM_LENGTH: ['url_too_long', 'The URL is longer than 8 KiB.'],
}

function translated(error: unknown): unknown {
  const known = ofFastify[(error as Partial<FastifyError>)?.code ?? '']
  return known === undefined ? error : new Failure(...known)
}
