import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'

/** One structured line a request, and one for each bug. Never a header, a query or a body: secrets live there. */
export class RequestLog {
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Logs every request of the app once it has been answered. */
  attach(app: FastifyInstance): void {
    if (!this.#logger.isLevelEnabled('info')) return
    app.addHook('onResponse', (request, reply, done) => {
      this.#answered(request, reply)
      done()
    })
  }

  /** A request that never became one: raw garbage, a timeout, headers without end. */
  refused(requestId: string, status: number, failure: Failure): void {
    this.#logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  /** An error that nobody expected, with its stack. */
  bug(requestId: string, error: unknown): void {
    this.#logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  #answered(request: FastifyRequest, reply: FastifyReply): void {
    const { caller } = request
    this.#logger.info(
      {
        request_id: request.id,
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 1000) / 1000,
        account: caller?.account,
        key: caller?.key,
      },
      'request',
    )
  }
}
