import FindMyWay from 'find-my-way'
import { Failure } from '../errors.ts'
import type {
  Exchange,
  FailureFormatter,
  Handler,
  HandlerResult,
  Match,
  Method,
  Route,
  RouteOptions,
} from './exchange.ts'
import { parseQuery } from './form-encoding.ts'
import { maxTargetBytes } from './request-head.ts'

const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Handles requests without a route. `methods` are the methods of the path, if it has any. */
export type Fallback = (exchange: Exchange, methods: readonly Method[]) => HandlerResult

export class Router {
  /** Every method of every route, for tests that compare the routes with the documents. */
  readonly declared: { readonly method: Method; readonly template: string }[] = []
  readonly #routes = FindMyWay({
    // Longer targets are rejected before this matters.
    maxParamLength: maxTargetBytes,
    querystringParser: parseQuery,
    onBadUrl: () => undefined,
  })
  /** The methods of each path without parameters. */
  readonly #methodsOf = new Map<string, Set<string>>()
  readonly #fallback: Route
  #fallbackBelow: { readonly path: string; readonly route: Route } | undefined

  constructor(fallback: Fallback) {
    this.#fallback = { template: null, handler: (exchange) => this.#respondWithout(exchange, fallback) }
  }

  /** Adds a route. A route for GET handles HEAD too. */
  add(method: Method, template: string, handler: Handler, options: RouteOptions = {}): void {
    const route: Route = { template, handler, ...options }
    const supported: Method[] = method === 'GET' ? ['GET', 'HEAD'] : [method]
    this.#routes.on(supported, template, () => undefined, route)
    for (const each of supported) this.declared.push({ method: each, template })
    if (template.includes(':')) return
    this.#methodsOf.set(template, new Set([...(this.#methodsOf.get(template) ?? []), ...supported]))
  }

  /** Sets the format of failures for requests to this path or below it that have no route. */
  formatFailuresBelow(path: string, formatFailure: FailureFormatter): void {
    this.#fallbackBelow = { path, route: { ...this.#fallback, formatFailure } }
  }

  /** Finds the route of a request. `target` is in origin form. If there is none, returns the fallback. Never throws. */
  find(method: string, target: string): Match {
    const found = this.#lookUp(method, target)
    if (found?.store) {
      // The result of `querystringParser`, which find-my-way declares with another type.
      const query: unknown = found.searchParams
      return { route: found.store, params: found.params, query: query as Match['query'] }
    }
    const mark = target.indexOf('?')
    const query = parseQuery(mark < 0 ? '' : target.slice(mark + 1))
    return { route: this.#fallbackFor(target), params: {}, query }
  }

  #fallbackFor(target: string): Route {
    const { path = '', route = this.#fallback } = this.#fallbackBelow ?? {}
    return target.startsWith(path) && /^(?:$|[/?])/.test(target.slice(path.length)) ? route : this.#fallback
  }

  #respondWithout(exchange: Exchange, fallback: Fallback): HandlerResult {
    const found = methods.map((method) => this.#lookUp(method, exchange.target))
    if (found.some((match) => match?.store === null)) return malformedPath
    return fallback(
      exchange,
      methods.filter((_, at) => found[at] !== null),
    )
  }

  /** Returns null if no route has the path. The `store` of the result is null if the path cannot be decoded. */
  #lookUp(method: string, target: string) {
    // `*` is the server itself (RFC 9110 §9.3.7); find-my-way would treat it as a path.
    if (target === '*') return null
    const found = this.#routes.find(method as Method, target)
    if (found === null || Object.keys(found.params).length === 0) return found
    // A path of its own does not become a parameter, such as an id, of another path with more methods.
    const methods = this.#methodsOf.get(target.split('?', 1)[0] as string)
    return methods === undefined || methods.has(method) ? found : null
  }
}

export const malformedPath = new Failure(
  'malformed_url',
  'The path of the URL is malformed. Check its percent-encoding.',
)
