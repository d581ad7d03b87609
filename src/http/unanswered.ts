import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { addHeader, send } from './answer.ts'
import type { RateLimits } from './rate-limit.ts'

/**
 * Answers what no operation does: 204 to OPTIONS and 405 otherwise on a known path, both with `Allow`, and 404
 * elsewhere; all before a key is asked for or a body is read. To be called before the routes are declared.
 */
export function answerUnanswered(app: FastifyInstance, rateLimits: RateLimits): void {
  const paths = knownPaths(app)
  app.setNotFoundHandler(() => undefined)
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const allow = allowed(paths, pathOf(request))
    if (allow === undefined) {
      throw new Failure('route_not_found', 'No operation has this path. The operations are listed at /docs.')
    }
    if (request.method === 'OPTIONS') {
      rateLimits.announceAddress(request, reply)
      addHeader(reply, 'allow', allow.join(', '))
      send(reply, 204)
      return
    }
    throw new Failure('method_not_allowed', `${request.method} is not answered here: ${allow.join(', ')} are.`, {
      allow,
    })
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) answer(request, reply).then(() => undefined, done)
    else done()
  })
}

interface KnownPath {
  readonly pattern: RegExp
  readonly methods: Set<string>
}

/** The paths of the routes, filled as they are declared. */
function knownPaths(app: FastifyInstance): ReadonlyMap<string, KnownPath> {
  const paths = new Map<string, KnownPath>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = paths.get(url) ?? { pattern: patternOf(url), methods: new Set() }
    for (const each of [method].flat()) known.methods.add(each)
    paths.set(url, known)
  })
  return paths
}

function patternOf(url: string): RegExp {
  const source = url.replace(/[.]/g, '\\.').replace(/\*$/, '.*').replace(/:\w+/g, '[^/]*')
  return new RegExp(`^${source}$`)
}

function allowed(paths: ReadonlyMap<string, KnownPath>, path: string): string[] | undefined {
  for (const { pattern, methods } of paths.values()) if (pattern.test(path)) return [...methods, 'OPTIONS']
  return undefined
}

/** Decoded, as the router decodes it before it looks for a route. */
function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  return path.includes('%') ? decodeURI(path) : path
}
