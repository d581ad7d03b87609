import Router from 'find-my-way'
import { answerUnanswered } from '../api/unanswered.ts'
import { Failure } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import { type Fields, type MalformedForm, parseQuery } from './form-encoding.ts'
import { maxTargetBytes } from './target.ts'

/** Answers an exchange; whatever it throws, or rejects with, becomes the answer (`attempt`). */
export type Handler = (exchange: Exchange) => void | Promise<void>

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

export interface Route {
  /** The path, with `:name` for each part that varies; null where no route has the path or the method. */
  readonly template: string | null
  readonly handler: Handler
}

/** Where a request goes, and what its target says. */
export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Fields | MalformedForm
}

/** Which handler answers which method and path. */
export class Routes {
  /** Every method of every route: what the documents must have. */
  readonly declared: { readonly method: Method; readonly template: string }[] = []
  readonly #router = Router({
    // The target was measured before.
    maxParamLength: maxTargetBytes,
    querystringParser: parseQuery,
    onBadUrl: () => undefined,
  })
  /** What no route has. */
  readonly #unanswered: Route = {
    template: null,
    handler: (exchange) => answerUnanswered(exchange, this.#methodsOf(exchange.target)),
  }

  /** Adds a route; what answers GET answers HEAD. */
  add(answered: readonly Method[], template: string, handler: Handler): void {
    const route: Route = { template, handler }
    const all: Method[] = answered.includes('GET') ? [...answered, 'HEAD'] : [...answered]
    this.#router.on(all, template, () => undefined, route)
    for (const method of all) this.declared.push({ method, template })
  }

  /** Never throws: what no route has, and what cannot be decoded, goes to a handler that says so. */
  find(method: string, target: string): Match {
    const found = this.#look(method, target)
    if (found === null) return { route: this.#unanswered, params: {}, query: queryOf(target) }
    const route: Route | null = found.store
    if (route === null) return { route: undecodable, params: {}, query: queryOf(target) }
    const query: unknown = found.searchParams
    return { route, params: found.params, query: query as ReturnType<typeof parseQuery> }
  }

  /** The methods that the path answers; none where no route has it. Throws `malformed_url`. */
  #methodsOf(target: string): Method[] {
    return methods.filter((method) => {
      const found = this.#look(method, target)
      if (found?.store === null) throw malformedPath
      return found !== null
    })
  }

  /** Without a route where none has the path, and with none in `store` where the path cannot be decoded. */
  #look(method: string, target: string) {
    // It stands for the server as such (RFC 9110 §9.3.7), of which there is nothing to say; the router takes it for a path.
    if (target === '*') return null
    // What the router has no routes for, it finds none for.
    return this.#router.find(method as Method, target)
  }
}

const malformedPath = new Failure('malformed_url', 'The path of the URL is malformed: check its percent-encoding.')

const undecodable: Route = {
  template: null,
  handler: () => {
    throw malformedPath
  },
}

function queryOf(target: string): Fields | MalformedForm {
  const at = target.indexOf('?')
  return parseQuery(at < 0 ? '' : target.slice(at + 1))
}
