import type { Actor, NeededScope } from '../access/actor.ts'
import { type ApiErrorCode, Failure, found } from '../errors.ts'
import { deletionSentence } from '../events/event.ts'
import type { Form } from '../forms/form.ts'
import { type TSchema, Type } from '../forms/json-schema.ts'
import type { ListQuery } from '../forms/list-query.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { ResourceName, resources } from '../resources.ts'
import { deletionQuery } from './handlers.ts'
import { withWarnings } from './warnings.ts'

export const apiPrefix = '/api/v1'

/** An operation of the API, for its checks and its documents. */
export interface Operation {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path after `apiPrefix`, in the router's syntax: `/domains/:id`. */
  readonly path: string
  readonly tag: { readonly name: string; readonly description: string }
  readonly summary: string
  readonly description: string
  /** The scope that the key must have, or null if any key may use the operation. */
  readonly scope: NeededScope | null
  readonly query?: Form<unknown>
  readonly body?: Body
  /** A body that the handler reads by itself. */
  readonly file?: FileBody
  /** Request headers in addition to the headers of every operation. */
  readonly headers?: readonly RequestHeader[]
  /** Invalid query or body fields, whose response is an example in the documents. */
  readonly refused?: Fields
  readonly success: Success
  /** When the response is 204 instead, as a sentence. */
  readonly emptySuccess?: string
  /** When the response is 202 instead, as a sentence. */
  readonly acceptedSuccess?: string
  /** Failures in addition to the failures of every operation. */
  readonly failures: readonly ApiErrorCode[]
}

type RequestHeader = 'If-Match' | 'If-None-Match' | 'Idempotency-Key'

export type MediaType = 'application/x-www-form-urlencoded' | 'application/json' | 'text/csv'

export interface Body {
  /** The name of the schema, such as `StoreDomain`. */
  readonly name: string
  readonly form: Form<unknown>
  readonly example: Fields
  /** The accepted media types; forms and JSON by default. */
  readonly media?: readonly MediaType[]
  readonly maxBytes?: number
}

/** A file as a body. */
export interface FileBody {
  readonly media: readonly string[]
  readonly maxBytes: number
  /** A file in JSON. */
  readonly example: unknown
  /** What to do with a larger file, as a sentence. */
  readonly advice: string
}

export interface Success {
  readonly status: 200 | 201 | 204
  readonly description: string
  readonly schema?: TSchema
  readonly example?: unknown
  /** Several examples by name, each with a sentence. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>
  /** The media types of other responses. */
  readonly media?: Readonly<Record<string, { readonly schema?: TSchema }>>
  readonly headers?: readonly string[]
  /** Headers that only some responses have. */
  readonly optionalHeaders?: readonly string[]
}

/** An authenticated request: who sends it, and the fields of its body. */
export interface Admitted {
  readonly actor: Actor
  readonly fields: Fields
}

/** Returns the `{id}` of the path, or another parameter. Throws `not_found` if it cannot be an id. */
export function readId({ params }: Pick<Exchange, 'params'>, what: string, name = 'id'): number {
  const id = params[name] ?? ''
  if (id === '')
    throw new Failure('not_found', `The path has no id: leave out the slash at its end, or name the ${what}.`)
  return found(positiveInteger(id), what)
}

/** Returns the path of an operation with these parameters. */
export function pathTo({ path }: Pick<Operation, 'path'>, params: Exchange['params']): string {
  return apiPrefix + path.replace(/:(\w+)/g, (_, name) => params[name] ?? '')
}

type BodyParts = Pick<Body, 'form' | 'example'>

/** The properties of a resource's operations that do not follow from its name. */
interface Described {
  readonly description: string
  readonly record: TSchema
  readonly listQuery: Form<ListQuery>
  readonly store: BodyParts & Required<Pick<Operation, 'refused' | 'failures'>> & { readonly description?: string }
  readonly update: BodyParts & Pick<Operation, 'description'> & Partial<Pick<Operation, 'failures'>>
  readonly delete?: Required<Pick<Operation, 'description' | 'query' | 'refused' | 'failures'>>
  readonly example: object
}

export interface ListOperation<Query = ListQuery> extends Operation {
  readonly query: Form<Query>
}

type WithBody = Operation & { readonly body: Body }

export interface Operations
  extends Readonly<Record<'show' | 'delete', Operation>>,
    Readonly<Record<'store' | 'put' | 'patch', WithBody>> {
  readonly list: ListOperation
}

const conditions: readonly RequestHeader[] = ['If-Match', 'If-None-Match']

/** Failures of every request with a body. */
export const bodyFailures: readonly ApiErrorCode[] = [
  'malformed_body',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
]

/** Failures of requests with an `Idempotency-Key`. */
export const idempotencyFailures: readonly ApiErrorCode[] = ['idempotency_in_progress', 'idempotency_key_reused']

/** Describes the five operations of a resource. Updates have two methods. */
export function describeOperations(plural: ResourceName, described: Described): Operations {
  return { ...describeReads(plural, { ...described, scope: `${plural}:read` }), ...describeWrites(plural, described) }
}

interface DescribedReads<Query> extends Pick<Described, 'description' | 'record' | 'example'> {
  readonly listQuery: Form<Query>
  readonly scope: NeededScope
}

/** Describes the operations that list and show the records of a resource. */
export function describeReads<Query>(
  plural: keyof typeof resources | 'events',
  described: DescribedReads<Query>,
): { readonly list: ListOperation<Query>; readonly show: Operation } {
  const { ofList, ofRecord, named, recordResponse, singular } = describeParts(plural, described)
  const { scope } = described
  return {
    list: {
      ...ofList,
      method: 'GET',
      id: `list${titled(plural)}`,
      summary: `List ${plural}`,
      description: `Lists the account's ${plural} in pages, newest first by default. A page after the last one is empty.`,
      scope,
      query: described.listQuery,
      headers: conditions,
      refused: { per_page: '20', sort_by: 'created_at' },
      success: describePage(plural, singular, described),
      failures: ['precondition_failed', 'validation_failed'],
    },
    show: {
      ...ofRecord,
      ...named('show'),
      method: 'GET',
      description: `Shows one of the account's ${plural}.`,
      scope,
      success: recordResponse(`The ${singular}.`),
      failures: ['not_found', 'precondition_failed'],
    },
  }
}

const deletionFailures: readonly ApiErrorCode[] = [
  'not_found',
  'precondition_failed',
  'reference_conflict',
  'validation_failed',
]

function describeWrites(plural: ResourceName, described: Described): Omit<Operations, 'list' | 'show'> {
  const { ofList, ofRecord, named, recordResponse, singular } = describeParts(plural, described)
  const { record, store, update, delete: deletion } = described
  const scope = `${plural}:write` as const
  const patch: WithBody = {
    ...ofRecord,
    ...named('update'),
    method: 'PATCH',
    description: `${update.description} PUT and PATCH do the same. Omitted fields keep their values, and a request without fields changes nothing.`,
    scope,
    body: { ...update, name: `Update${titled(singular)}` },
    success: { ...recordResponse(`The updated ${singular}.`), schema: withWarnings(record) },
    failures: ['not_found', 'precondition_failed', ...(update.failures ?? []), ...bodyFailures],
  }
  return {
    store: {
      ...ofList,
      ...named('store'),
      method: 'POST',
      description: join(
        `Creates a ${singular}. The response is sent when the ${singular} is stored on disk.`,
        store.description,
      ),
      scope,
      body: { ...store, name: `Store${titled(singular)}` },
      refused: store.refused,
      headers: ['Idempotency-Key'],
      success: {
        ...recordResponse(`The new ${singular}.`),
        schema: withWarnings(record),
        status: 201,
        headers: ['Location', 'ETag', 'Idempotency-Replayed'],
      },
      failures: [...store.failures, ...bodyFailures, ...idempotencyFailures],
    },
    put: { ...patch, method: 'PUT', id: `${patch.id}ByPut`, summary: `${patch.summary} (PUT)` },
    patch,
    delete: {
      ...ofRecord,
      ...named('delete'),
      method: 'DELETE',
      description: join(
        `Deletes the ${singular}. ${deletionSentence} The id is never reused. A body is ignored.`,
        deletion?.description,
      ),
      query: deletion?.query ?? deletionQuery,
      refused: deletion?.refused ?? { permanently: 'later' },
      scope,
      success: { status: 204, description: `The ${singular} is deleted.` },
      failures: [...deletionFailures, ...(deletion?.failures ?? [])],
    },
  }
}

function describeParts(
  plural: keyof typeof resources | 'events',
  { description, record, example }: Pick<Described, 'description' | 'record' | 'example'>,
) {
  const singular = plural.slice(0, -1)
  const article = /^[aeiou]/.test(singular) ? 'an' : 'a'
  const tag = { name: titled(plural), description }
  return {
    singular,
    ofList: { tag, path: `/${plural}` },
    ofRecord: { tag, path: `/${plural}/:id`, headers: conditions },
    named: (verb: string) => ({ id: verb + titled(singular), summary: `${titled(verb)} ${article} ${singular}` }),
    recordResponse: (text: string): Success => ({
      status: 200,
      description: text,
      schema: Type.Object({ data: record }),
      example: { data: example },
      headers: ['ETag'],
    }),
  }
}

function titled(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function join(sentence: string, more: string | undefined): string {
  return more === undefined ? sentence : `${sentence} ${more}`
}

const pageUrl = (description: string) => Type.String({ format: 'uri', description })
const nullable = (schema: TSchema, type: string) => ({ ...schema, type: [type, 'null'] }) as unknown as TSchema

/** Describes the response with a page of records. */
export function describePage(
  plural: string,
  singular: string,
  { record, example }: Pick<Described, 'record' | 'example'>,
  { path: listPath = plural, perPage = 10 }: { readonly path?: string; readonly perPage?: number } = {},
): Success {
  const position = (description: string) =>
    nullable(Type.Integer({ minimum: 1, description: `${description} Null with \`after\`.` }), 'integer')
  const path = `https://links.example.com${apiPrefix}/${listPath}`
  return {
    status: 200,
    description: `A page of ${plural}.`,
    headers: ['ETag', 'Link'],
    schema: Type.Object(
      {
        data: Type.Array(record),
        links: Type.Object({
          first: pageUrl('The first page.'),
          last: nullable(pageUrl('The last page. Null with `after`.'), 'string'),
          prev: nullable(pageUrl('The previous page. Null on the first page.'), 'string'),
          next: nullable(pageUrl('The next page. Null on the last page.'), 'string'),
        }),
        meta: Type.Object({
          current_page: position('The number of this page.'),
          from: position('The position of the page’s first record in the list. Null on an empty page.'),
          last_page: position('The number of the last page.'),
          path: pageUrl('The URL of the list, without a query.'),
          per_page: Type.Integer({ minimum: 1, description: 'The number of records on a full page.' }),
          to: position('The position of the page’s last record in the list. Null on an empty page.'),
          total: Type.Integer({
            minimum: 0,
            description: 'The number of records in the list. At most 10,000 for a search or a filter.',
          }),
          total_is_exact: Type.Boolean({
            description: 'False for a search or a filter with more than 10,000 matches.',
          }),
        }),
      },
      { $id: `${titled(singular)}Page` },
    ),
    example: {
      data: [example],
      links: { first: `${path}?page=1`, last: `${path}?page=1`, prev: null, next: null },
      meta: { current_page: 1, from: 1, last_page: 1, path, per_page: perPage, to: 1, total: 1, total_is_exact: true },
    },
  }
}
