import swagger from '@fastify/swagger'
import swaggerUi, { type FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { longestUrl, requestIdOf } from './arrival.ts'

/** The interactive reference under `/docs`. */
export interface Reference {
  /** Takes the request over from the app that received it; headers that were set by then are kept. */
  answer(request: FastifyRequest, reply: FastifyReply): void
  close(): Promise<void>
}

/**
 * Swagger UI for the document. It is an app of its own, since no plugin can join one that listens already;
 * `answerErrors` makes it answer errors as the app around it does.
 */
export async function openReference(
  document: object,
  answerErrors: (app: FastifyInstance) => void,
): Promise<Reference> {
  const app = Fastify({ logger: false, genReqId: requestIdOf, routerOptions: { maxParamLength: longestUrl } })
  answerErrors(app)
  app.setNotFoundHandler(() => {
    throw noSuchFile
  })
  app.register((files, _, done) => {
    files.setErrorHandler((error: { statusCode?: number }) => {
      throw (error.statusCode ?? 500) < 500 ? noSuchFile : error
    })
    files.register(swagger, { mode: 'static', specification: { document: document as never } })
    files.register(swaggerUi, settings)
    done()
  })
  await app.ready()
  return {
    answer(request, reply) {
      reply.hijack()
      reply.raw.setHeaders(new Map(Object.entries(reply.getHeaders()) as [string, string][]))
      request.raw.headers['x-request-id'] = request.id
      app.routing(request.raw, reply.raw)
    },
    close: () => app.close(),
  }
}

const noSuchFile = new Failure('route_not_found', 'The reference has no such file. It begins at /docs.')

/** Nothing but this server: the page works without a network, and tells nobody that it was opened. */
const contentSecurityPolicy = {
  'default-src': "'none'",
  'base-uri': "'none'",
  'connect-src': "'self'",
  'font-src': "'self'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
  'img-src': ["'self'", 'data:'],
  'script-src': "'self'",
  'style-src': "'self'",
}

const settings: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  staticCSP: contentSecurityPolicy,
  theme: { title: 'Waymark API' },
  uiConfig: {
    // Without the bar that asks for the address of another document.
    layout: 'BaseLayout',
    deepLinking: true,
    displayRequestDuration: true,
    persistAuthorization: false,
    tryItOutEnabled: true,
  },
}
