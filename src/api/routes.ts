import { type Actor, createActor } from '../access/actor.ts'
import { requireScope } from '../access/roles.ts'
import { Failure, found } from '../errors.ts'
import { type PageQuery, toPageRequest } from '../forms/list-query.ts'
import { readCondition } from '../http/conditions.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import { noFields } from '../http/form-encoding.ts'
import { addHeader, formatEntityTag, type Sent, send, sendJson } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import type { IdempotentRequests, OnceResult } from '../idempotency/store.ts'
import type { Keyring } from '../keys/keyring.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { resources } from '../resources.ts'
import type { Page, Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { readBody } from './body.ts'
import { recordText, sendPage, sendRecord } from './envelopes.ts'
import type { Insertion, ResourceHandlers } from './handlers.ts'
import { claimForm, readIdempotencyKey } from './idempotency.ts'
import {
  type Admitted,
  apiPrefix,
  type Body,
  type ListOperation,
  type Operation,
  type Operations,
  pathTo,
  readId,
} from './operations.ts'
import type { RateLimits } from './rate-limit.ts'
import { findWarnings } from './warnings.ts'

export type OperationHandler = (exchange: Exchange, admitted: Admitted) => Promise<HandlerResult>

/** The routes of the API: for requests with a key, or for commands in this process. */
export interface Api {
  /** Adds operations that share a handler. */
  add(operations: Operation | readonly Operation[], handler: OperationHandler): void
  /** Counts bulk rows, after the first unit is counted. Returns `rate_limited` if too few units are left. */
  countRows(exchange: Exchange, actor: Actor, rows: number): Failure | undefined
  /** Runs work that builds a large response. Each account has few at a time. Throws `overloaded` if too many wait. */
  inTurn<T>(actor: Actor, work: () => Promise<T>): Promise<T>
  /** Returns the absolute URL of an operation with the path parameters of the request. */
  urlOf(exchange: Exchange, operation: Operation): string
  /** Returns the absolute URL of the dashboard and the API, without a trailing slash. */
  baseOf: PublicUrl
}

interface ApiParts {
  readonly routes: Router
  readonly keyring: Keyring
  readonly rateLimits: RateLimits
  readonly publicUrl: PublicUrl
  readonly semaphores: { readonly largeResponses: Semaphore }
}

/** Returns the routes of the API, which require a key and a scope. */
export function apiRoutes({ routes, keyring, rateLimits, publicUrl, semaphores }: ApiParts): Api {
  /** Checks the key, the rate limit, the scope and the body, in this order, before the handler runs. */
  async function serve(
    exchange: Exchange,
    { scope, body }: Operation,
    handler: OperationHandler,
  ): Promise<HandlerResult> {
    addHeader(exchange, 'cache-control', 'private, no-cache')
    const token = bearerToken(exchange.headers.authorization)
    const key = token instanceof Failure ? token : await keyring.identify(token)
    if (key instanceof Failure) return rateLimits.countFailedAuthentication(exchange) ?? key
    exchange.logFields = { account: key.account, key: key.id }
    const limited = rateLimits.countRequest('key', key.id, exchange)
    if (limited !== undefined) return limited
    if (scope !== null) requireScope(key, scope)
    const fields = body === undefined ? noFields : await readBody(exchange, body)
    if (fields instanceof Failure) return fields
    return handler(exchange, { actor: createActor(key, exchange.id), fields })
  }

  return {
    add: (operations, handler) => {
      for (const operation of [operations].flat()) {
        const { method, path } = operation
        routes.add(method, apiPrefix + path, (exchange) => serve(exchange, operation, handler))
      }
    },
    countRows: (exchange, { id }, rows) =>
      id === null ? undefined : rateLimits.countUnits('key', id, Math.ceil(rows / rowsPerUnit), exchange),
    inTurn: ({ account }, work) => semaphores.largeResponses.run(work, String(account)),
    baseOf: publicUrl,
    urlOf: (exchange, operation) => publicUrl(exchange) + pathTo(operation, exchange.params),
  }
}

/** A page with more records takes its turn: 100 links have up to 1.2 MB. */
const maxSmallPage = 10

/** How many bulk rows count as one request. */
const rowsPerUnit = 100

/** Returns the token of RFC 6750 §2.1. The scheme is case-insensitive (RFC 9110 §11.1). */
function bearerToken(authorization: string | undefined): string | Failure {
  if (authorization === undefined) return missingKey
  if (authorization.startsWith('Bearer wm_')) return authorization.slice(7)
  const token = /^bearer +(\S+) *$/i.exec(authorization)
  if (token?.[1] !== undefined) return token[1]
  return /^bearer\b/i.test(authorization) ? emptyHeader : missingKey
}

export const missingKey = new Failure(
  'missing_api_key',
  'Send your API key in the header "Authorization: Bearer wm_…".',
)
const emptyHeader = new Failure('invalid_api_key', 'The Authorization header holds no API key.')

/** Returns the public URL of the API for links in responses, without a trailing slash. */
export type PublicUrl = (exchange: Exchange) => string

/** Returns `baseUrl` for every request, or if it is null, the address that the request was sent to. */
export function publicUrl(baseUrl: string | null): PublicUrl {
  if (baseUrl !== null) return () => baseUrl
  return ({ protocol, host, request }) => `${protocol.toLowerCase()}://${host || formatAddress(request.socket)}`
}

/** Returns the address that a request was sent to. Only HTTP/1.0 requests may lack a Host header. */
function formatAddress({ localAddress = 'localhost', localPort }: Exchange['request']['socket']): string {
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

/** Adds a list, of which `read` returns a page. `requireParent` throws if the record of the path does not exist. */
export function listRoute<Query extends PageQuery, Shown>(
  api: Api,
  list: ListOperation<Query>,
  read: (account: number, query: Query, exchange: Exchange) => Promise<Page<Shown>>,
  requireParent: (account: number, exchange: Exchange) => Promise<unknown> = async () => undefined,
): void {
  api.add(list, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const query = list.query.check(exchange.query)
    if (query instanceof Failure) {
      await requireParent(actor.account, exchange)
      return query
    }
    const respond = async () => {
      if (exchange.response.destroyed) return send(exchange, 503)
      const page = await read(actor.account, query, exchange)
      return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
    }
    return query.per_page <= maxSmallPage ? respond() : api.inTurn(actor, respond)
  })
}

interface Reads<Query, Shown> {
  list(account: number, query: Query): Promise<Page<Shown>>
  find(account: number, id: number): Promise<Versioned<Shown> | undefined>
}

/** Adds the operations that list and show the records of a resource. */
export function readRoutes<Query extends PageQuery, Shown>(
  api: Api,
  singular: string,
  { list, show }: { readonly list: ListOperation<Query>; readonly show: Operation },
  reads: Reads<Query, Shown>,
): void {
  listRoute(api, list, (account, query) => reads.list(account, query))

  api.add(show, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const record = await reads.find(actor.account, readId(exchange, singular))
    return sendRecord(exchange, found(record, singular), condition)
  })
}

interface Stores<Shown> extends Partial<Pick<ResourceHandlers<Shown>, 'warnings'>> {
  insertion(exchange: Exchange, admitted: Admitted): Insertion<Shown> | Promise<Insertion<Shown>>
  onStored?(record: Shown, exchange: Exchange): unknown
}

/** Adds the operation that stores a record: see `ResourceHandlers`. Its path is the list's. */
export function storeRoute<Shown extends { readonly id: number }>(
  api: Api,
  idempotentRequests: IdempotentRequests,
  store: Operation & { readonly body: Body },
  { insertion, onStored, warnings = () => [] }: Stores<Shown>,
): void {
  api.add(store, async (exchange, admitted) => {
    const key = readIdempotencyKey(exchange, admitted.actor)
    const insert = await insertion(exchange, admitted)
    const claim = claimForm(exchange, admitted.fields, key, store.body.form)
    let stored: { readonly record: Shown; readonly body: string } | undefined
    const response = await idempotentRequests.run(claim, async (db) => {
      const { record, version, secrets } = await insert(db)
      const location = `${api.urlOf(exchange, store)}/${record.id}`
      const warned = await findWarnings({ warnings }, db, admitted.actor, record, admitted.fields)
      const body = recordText(record, warned)
      stored = { record, body: secrets === undefined ? body : recordText({ ...record, ...secrets }, warned) }
      return { status: 201, location, etag: formatEntityTag(version), body }
    })
    if (stored !== undefined) await onStored?.(stored.record, exchange)
    return sendStored(exchange, { ...response, ...(stored && { body: stored.body }) })
  })
}

/** Adds the five operations on a resource. Updates have two methods. */
export function resourceRoutes<Shown extends { readonly id: number }>(
  api: Api,
  storage: Storage,
  idempotentRequests: IdempotentRequests,
  operations: Operations,
  handlers: ResourceHandlers<Shown>,
): void {
  const resource = resources[handlers.name]
  const { store, put, patch, delete: remove } = operations

  readRoutes(api, resource.singular, operations, {
    list: (account, query) => handlers.list(account, toPageRequest(query, resource)),
    find: (account, id) => handlers.find(account, id),
  })

  storeRoute(api, idempotentRequests, store, {
    insertion: (_, { actor, fields }) => handlers.insertion(actor, fields),
    onStored: (record) => handlers.onStored?.(record),
    warnings: (...stored) => handlers.warnings(...stored),
  })

  api.add([put, patch], async (exchange, { actor, fields }) => {
    const condition = readCondition(exchange)
    const id = readId(exchange, resource.singular)
    const changed = await handlers.change(actor, id, fields, condition)
    const warnings = await findWarnings(handlers, storage, actor, changed.record, fields)
    return sendRecord(exchange, changed, null, warnings)
  })

  api.add(remove, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const id = readId(exchange, resource.singular)
    await handlers.remove(actor, id, exchange.query, condition)
    return send(exchange, 204)
  })
}

/** Sends the response of a request that may have been repeated. */
export function sendStored(exchange: Exchange, { status, location, etag, body, isReplayed }: OnceResult): Sent {
  if (isReplayed) addHeader(exchange, 'idempotency-replayed', 'true')
  addHeader(exchange, 'location', location)
  addHeader(exchange, 'etag', etag)
  return sendJson(exchange, status, body)
}
