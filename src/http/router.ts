import FindMyWay from 'find-my-way'
import { Failure } from '../errors.ts'
import type { Exchange, Finder, Handler, Match, Outcome, Route, Wording } from './exchange.ts'
import { type Fields, type MalformedForm, parseQuery } from './form-encoding.ts'
import { maxTargetBytes } from './target.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type Method = (typeof methods)[number]

/** Answers what no route does. `methods` are those that the path answers: none if there is no such path. */
export type Fallback = (exchange: Exchange, methods: readonly Method[]) => Outcome

/** Finds the handler for a method and a path. */
export class Router implements Finder {
  /** Every method of every route, for the tests that compare the documents with what is served. */
  readonly declared: { readonly method: Method; readonly template: string }[] = []
  readonly #routes = FindMyWay({
    // The gate refuses longer targets.
    maxParamLength: maxTargetBytes,
    querystringParser: parseQuery,
    onBadUrl: () => undefined,
  })
  readonly #unanswered: Route
  readonly #worded: { readonly prefix: string; readonly route: Route }[] = []

  constructor(fallback: Fallback) {
    this.#unanswered = {
      template: null,
      handler: (exchange) => {
        const answered = this.#methodsOf(exchange.target)
        return answered === null ? malformedPath : fallback(exchange, answered)
      },
    }
  }

  /** Adds a route; what answers GET answers HEAD. */
  add(method: Method, template: string, handler: Handler, more: Pick<Route, 'isAlwaysServed' | 'word'> = {}): void {
    const route: Route = { template, handler, ...more }
    const answered: Method[] = method === 'GET' ? ['GET', 'HEAD'] : [method]
    this.#routes.on(answered, template, () => undefined, route)
    for (const each of answered) this.declared.push({ method: each, template })
  }

  /** Words the failures of requests below the path that no route answers, where its clients are others than those of the listener. */
  word(path: string, word: Wording): void {
    this.#worded.push({ prefix: path, route: { ...this.#unanswered, word } })
  }

  /** Never throws: a path that no route has, or that cannot be decoded, leads to a handler that says so. */
  find(method: string, target: string): Match {
    const found = this.#look(method, target)
    if (!found?.store) return { route: this.#unansweredAt(target), params: {}, query: queryOf(target) }
    const query: unknown = found.searchParams
    return { route: found.store, params: found.params, query: query as Match['query'] }
  }

  #unansweredAt(target: string): Route {
    const worded = this.#worded.find(({ prefix }) => isBelow(target, prefix))
    return worded?.route ?? this.#unanswered
  }

  /** The methods that the path answers; null if it cannot be decoded. */
  #methodsOf(target: string): Method[] | null {
    const found = methods.map((method) => [method, this.#look(method, target)] as const)
    if (found.some(([, route]) => route?.store === null)) return null
    return found.filter(([, route]) => route !== null).map(([method]) => method)
  }

  /** Null if no route has the path; with null in `store` if the path cannot be decoded. */
  #look(method: string, target: string) {
    // It stands for the server itself (RFC 9110 §9.3.7); find-my-way would take it for a path.
    if (target === '*') return null
    return this.#routes.find(method as Method, target)
  }
}

export const malformedPath = new Failure(
  'malformed_url',
  'The path of the URL is malformed: check its percent-encoding.',
)

function isBelow(target: string, path: string): boolean {
  return target.startsWith(path) && ['', '/', '?'].includes(target.charAt(path.length))
}

function queryOf(target: string): Fields | MalformedForm {
  const at = target.indexOf('?')
  return parseQuery(at < 0 ? '' : target.slice(at + 1))
}
