import type { Server } from 'node:http'
import Fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { domainRoutes } from './domains/routes.ts'
import { domainOperations } from './domains/schema.ts'
import { type Drain, originFormOf, receive, requestIdOf } from './http/arrival.ts'
import { requireKey } from './http/authentication.ts'
import { publicAddress } from './http/base-url.ts'
import { readBodies } from './http/body.ts'
import { Connections } from './http/connections.ts'
import { documents } from './http/docs.ts'
import { answerErrors, onFrameworkError } from './http/errors.ts'
import { parseQuery } from './http/form-encoding.ts'
import { healthRoute } from './http/health.ts'
import { apiPrefix } from './http/operation.ts'
import { Overload } from './http/overload.ts'
import { problemPages } from './http/problem-pages.ts'
import { RateLimits } from './http/rate-limit.ts'
import { RequestCounts } from './http/request-counts.ts'
import { RequestLog } from './http/request-log.ts'
import { answerSocketErrors, onClientError } from './http/socket-errors.ts'
import { answerUnanswered } from './http/unanswered.ts'
import { KeptAnswers } from './idempotency/kept-answers.ts'
import { Keyring } from './keys/keyring.ts'
import { spaceRoutes } from './spaces/routes.ts'
import { spaceOperations } from './spaces/schema.ts'
import type { Storage } from './storage/port.ts'
import type { Tally } from './tally.ts'

export interface AppOptions {
  readonly storage: Storage
  readonly logger: Logger
  readonly baseUrl: string | null
  readonly rateLimit: number
  /** Connections that are served at once. */
  readonly mostConnections: number
  readonly trustProxy: false | number | string[]
}

/** An app that is ready to listen, and the switch that makes it turn requests away. */
export interface App {
  readonly server: FastifyInstance
  readonly drain: Drain
  readonly counts: RequestCounts
  readonly loopDelays: Tally
  /** To be called once everything is loaded: from now on, what cannot be done in good time is refused. */
  begin(): void
}

/** How long headers and whole requests may take to arrive, and an idle connection stays open. Milliseconds. */
const headersTimeout = 10_000
const requestTimeout = 30_000
const keepAliveTimeout = 72_000

/** Every operation of the API, in the order of the documents. */
export const operations = [...Object.values(domainOperations), ...Object.values(spaceOperations)]

/** Puts everything together. Tests use the same function; there is no other app. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { storage } = options
  const counts = new RequestCounts()
  const log = new RequestLog(options.logger, counts)
  const overload = new Overload()
  const rateLimits = new RateLimits(options.rateLimit, storage)
  const keyring = new Keyring(storage)
  const kept = new KeptAnswers(storage)
  const drain = { isDraining: false }
  const app = Fastify(serverOptions(options, log, rateLimits))

  app.decorateRequest('caller', null)
  app.decorateRequest('failure', null)
  app.decorateReply('headerFields')
  app.decorateRequest('startedAt', 0)
  app.decorate('requestLog', log)
  answerErrors(app, log, rateLimits)
  answerSocketErrors(app, log)
  receive(app, drain, overload, new Connections(app.server, options.mostConnections))
  answerUnanswered(app, rateLimits)
  healthRoute(app, storage)
  problemPages(app)
  documents(app, operations)
  app.register(
    (api, _, done) => {
      const address = publicAddress(options.baseUrl)
      requireKey(api, keyring, rateLimits)
      readBodies(api)
      domainRoutes(api, storage, kept, address)
      spaceRoutes(api, storage, kept, address)
      done()
    },
    { prefix: apiPrefix },
  )
  app.addHook('onClose', async () => {
    overload.close()
    await rateLimits.close()
    await keyring.close()
    await kept.close()
  })
  await app.ready()
  const begin = () => {
    overload.begin()
    rateLimits.begin()
  }
  return { server: app, drain, counts, loopDelays: overload.delays, begin }
}

function serverOptions(
  { trustProxy }: AppOptions,
  log: RequestLog,
  rateLimits: RateLimits,
): FastifyHttpOptions<Server> {
  return {
    logger: false,
    clientErrorHandler: onClientError(log),
    forceCloseConnections: false,
    frameworkErrors: onFrameworkError(log, rateLimits),
    genReqId: requestIdOf,
    keepAliveTimeout,
    requestTimeout,
    rewriteUrl: originFormOf,
    return503OnClosing: false,
    routerOptions: {
      querystringParser: parseQuery as (query: string) => Record<string, unknown>,
      maxParamLength: 8192,
    },
    trustProxy: typeof trustProxy === 'number' ? (_, hop) => hop < trustProxy : trustProxy,
    http: { headersTimeout, connectionsCheckingInterval: 1_000, requireHostHeader: false, maxHeaderSize: 32 * 1024 },
  }
}
