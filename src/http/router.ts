import FindMyWay from 'find-my-way'
import { Failure } from '../errors.ts'
import type {
  Exchange,
  FailureFormatter,
  Handler,
  Match,
  Method,
  Outcome,
  Route,
  RouteMatcher,
  Routes,
} from './exchange.ts'
import { type Fields, type MalformedForm, parseQuery } from './form-encoding.ts'
import { maxTargetBytes } from './request-head.ts'

const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Handles requests without a route. `methods` are the methods of the path, if it has any. */
export type Fallback = (exchange: Exchange, methods: readonly Method[]) => Outcome

/** Finds the route for a method and a path. */
export class Router implements RouteMatcher, Routes {
  /** Every method of every route, for tests that compare the routes with the documents. */
  readonly declared: { readonly method: Method; readonly template: string }[] = []
  readonly #routes = FindMyWay({
    // Longer targets are rejected before this matters.
    maxParamLength: maxTargetBytes,
    querystringParser: parseQuery,
    onBadUrl: () => undefined,
  })
  readonly #fallback: Route
  readonly #fallbacksBelow: { readonly path: string; readonly route: Route }[] = []

  constructor(fallback: Fallback) {
    this.#fallback = {
      template: null,
      handler: (exchange) => {
        const supported = this.#methodsOf(exchange.target)
        return supported === null ? malformedPath : fallback(exchange, supported)
      },
    }
  }

  add(
    method: Method,
    template: string,
    handler: Handler,
    options: Pick<Route, 'isAlwaysServed' | 'formatFailure'> = {},
  ): void {
    const route: Route = { template, handler, ...options }
    const supported: Method[] = method === 'GET' ? ['GET', 'HEAD'] : [method]
    this.#routes.on(supported, template, () => undefined, route)
    for (const each of supported) this.declared.push({ method: each, template })
  }

  /** Sets the format of failures for requests to this path or below it that have no route. */
  formatFailuresBelow(path: string, formatFailure: FailureFormatter): void {
    this.#fallbacksBelow.push({ path, route: { ...this.#fallback, formatFailure } })
  }

  /** Returns a route that responds with the failure if no route has the path, or the path cannot be decoded. */
  find(method: string, target: string): Match {
    const found = this.#lookUp(method, target)
    if (!found?.store) return { route: this.#fallbackFor(target), params: {}, query: queryOf(target) }
    const query: unknown = found.searchParams
    return { route: found.store, params: found.params, query: query as Match['query'] }
  }

  #fallbackFor(target: string): Route {
    return this.#fallbacksBelow.find(({ path }) => isAtOrBelow(target, path))?.route ?? this.#fallback
  }

  /** Returns the methods of the path, or null if it cannot be decoded. */
  #methodsOf(target: string): Method[] | null {
    const found = methods.map((method) => [method, this.#lookUp(method, target)] as const)
    if (found.some(([, route]) => route?.store === null)) return null
    return found.filter(([, route]) => route !== null).map(([method]) => method)
  }

  /** Returns null if no route has the path. The `store` of the result is null if the path cannot be decoded. */
  #lookUp(method: string, target: string) {
    // `*` is the server itself (RFC 9110 §9.3.7); find-my-way would treat it as a path.
    if (target === '*') return null
    return this.#routes.find(method as Method, target)
  }
}

export const malformedPath = new Failure(
  'malformed_url',
  'The path of the URL is malformed: check its percent-encoding.',
)

function isAtOrBelow(target: string, path: string): boolean {
  return target.startsWith(path) && ['', '/', '?'].includes(target.charAt(path.length))
}

function queryOf(target: string): Fields | MalformedForm {
  const at = target.indexOf('?')
  return parseQuery(at < 0 ? '' : target.slice(at + 1))
}
