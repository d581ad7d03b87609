import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { Failure } from '../errors.ts'
import { createServer } from '../http/node-http.ts'
import { failureOf, problemOf } from '../http/problem.ts'
import { newRequestId } from '../http/request-id.ts'
import { type Health, health } from './health.ts'
import { type Measured, metricsOf } from './metrics.ts'

/** What the operator may be told about. */
export type Operated = Measured & Health & { readonly logger: Pick<Logger, 'error' | 'info'> }

/** An answer of success, complete. */
export interface Report {
  readonly contentType: string
  readonly body: string
}

type Route = () => Report | Promise<Report>

/** Connections are few: a scraper, an orchestrator, a person. */
const mostConnections = 64
const timeoutMs = 10_000

/**
 * The server for the operator: plain HTTP, no keys, and so for a network that only the operator reaches. It has a listener
 * of its own, so that it answers while the API refuses.
 */
export function opsServer(operated: Operated): Server {
  const { live, ready } = health(operated)
  const routes: Readonly<Record<string, Route>> = {
    '/metrics': metricsOf(operated),
    '/health/live': live,
    '/health/ready': ready,
  }
  const server = createServer({ headersTimeout: timeoutMs, requestTimeout: timeoutMs }, (request, response) => {
    void answer(routes, request).then(
      (report) => send(request, response, report),
      (error) => refuse(request, response, failureOf(error), operated),
    )
  })
  server.maxConnections = mostConnections
  return server
}

async function answer(
  routes: Readonly<Record<string, Route>>,
  { url = '/', method }: IncomingMessage,
): Promise<Report> {
  const path = url.replace(/\?.*$/s, '')
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (route === undefined) {
    throw new Failure('route_not_found', `There is nothing here. There is: ${Object.keys(routes).join(', ')}.`)
  }
  if (method === 'GET' || method === 'HEAD') return await route()
  throw new Failure('method_not_allowed', `${method} is not answered here: GET and HEAD are.`, { allow })
}

const allow = ['GET', 'HEAD']

function send(request: IncomingMessage, response: ServerResponse, { contentType, body }: Report): void {
  finish(request, response, 200, { 'content-type': contentType }, body)
}

function refuse(request: IncomingMessage, response: ServerResponse, failure: Failure, { logger }: Operated): void {
  const requestId = newRequestId()
  const { status, headers, body } = problemOf(failure, requestId, request.headers.accept)
  const line = { request_id: requestId, status, code: failure.code }
  if (failure.code === 'internal_error') logger.error({ ...line, err: failure.facts.cause }, 'internal error')
  else logger.info(line, 'refused')
  finish(request, response, status, { ...headers, 'x-request-id': requestId }, body)
}

function finish(
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  response.writeHead(status, {
    ...headers,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(body),
  })
  response.end(method === 'HEAD' ? undefined : body)
}
