import { type TSchema, Type } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import type { NeededScope } from '../keys/scope.ts'
import type { Form } from './fields.ts'

/** What an operation is, for the guard at the door and for the API's documents. */
export interface Operation {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As Fastify writes it: `/domains/:id`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly scope: NeededScope
  readonly query?: Form<unknown>
  readonly body?: { readonly name: string; readonly form: Form<unknown>; readonly example: object }
  readonly success: Success
  /** What can go wrong here, beyond what can go wrong everywhere. */
  readonly failures: readonly ErrorCode[]
}

export interface Success {
  readonly status: 200 | 201 | 204
  readonly description: string
  readonly schema?: TSchema
  readonly example?: unknown
  readonly headers?: readonly string[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
  }
}

/** The route of an operation, or of several that one handler answers. */
export function declare(operation: Operation, ...alike: readonly Operation[]) {
  const methods = [operation, ...alike].map(({ method }) => method)
  return { url: operation.path, method: methods, config: { operation } }
}

/** A resource's nouns, from which its operations are described. */
export interface Resource {
  /** `domain`, which also names its scopes' stem: `domains`. */
  readonly singular: string
  readonly plural: 'domains' | 'spaces'
  readonly record: TSchema
  readonly listQuery: Form<unknown>
  readonly store: { readonly form: Form<unknown>; readonly example: object; readonly failures: readonly ErrorCode[] }
  readonly update: { readonly form: Form<unknown>; readonly example: object; readonly description: string }
  readonly example: object
}

export type Operations = Readonly<Record<'list' | 'show' | 'store' | 'put' | 'patch' | 'delete', Operation>>

/** Describes the five operations of a resource; update answers to two methods. */
export function operationsOf(resource: Resource): Operations {
  const { singular, plural, store, example } = resource
  const common = { tag: titled(plural), path: `/${plural}/:id`, failures: ['not_found'] as readonly ErrorCode[] }
  const read = { ...common, scope: `${plural}:read` } as const
  const write = { ...common, scope: `${plural}:write` } as const
  const one = { status: 200, description: `The ${singular}.`, schema: enveloped(resource.record), example: { data: example } } as const
  const update = (method: 'PUT' | 'PATCH'): Operation => ({
    ...write,
    method,
    id: `${method === 'PUT' ? 'replace' : 'update'}${titled(singular)}`,
    summary: `Update a ${singular}${method === 'PUT' ? ' (PUT)' : ''}`,
    description: `${resource.update.description} PUT and PATCH do the same: a field that is not sent stays as it is. A request without any field changes nothing.`,
    body: { ...resource.update, name: `Update${titled(singular)}` },
    success: one,
    failures: ['not_found', ...bodyFailures],
  })
  return {
    list: {
      ...read,
      method: 'GET',
      path: `/${plural}`,
      id: `list${titled(plural)}`,
      summary: `List ${plural}`,
      description: `The account's ${plural}, a page at a time, newest first unless asked otherwise.`,
      query: resource.listQuery,
      success: pageOf(resource),
      failures: ['validation_failed'],
    },
    show: {
      ...read,
      method: 'GET',
      id: `show${titled(singular)}`,
      summary: `Show a ${singular}`,
      description: `One of the account's ${plural}.`,
      success: one,
    },
    store: {
      ...write,
      method: 'POST',
      path: `/${plural}`,
      id: `store${titled(singular)}`,
      summary: `Store a ${singular}`,
      description: `Makes a ${singular}. The answer is sent once it is on the disk.`,
      body: { ...store, name: `Store${titled(singular)}` },
      success: { ...one, status: 201, description: `The new ${singular}.`, headers: ['Location'] },
      failures: [...store.failures, ...bodyFailures],
    },
    put: update('PUT'),
    patch: update('PATCH'),
    delete: {
      ...write,
      method: 'DELETE',
      id: `delete${titled(singular)}`,
      summary: `Delete a ${singular}`,
      description: `Deletes the ${singular} for good; its id is never given out again. A body is ignored.`,
      success: { status: 204, description: `The ${singular} is gone.` },
    },
  }
}

const bodyFailures: readonly ErrorCode[] = ['malformed_body', 'body_too_large', 'unsupported_media_type', 'validation_failed']

function titled(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function enveloped(record: TSchema): TSchema {
  return Type.Object({ data: record })
}

const pageUrl = (description: string) => Type.String({ format: 'uri', description })
const orNull = (schema: TSchema, type: string) => ({ ...schema, type: [type, 'null'] }) as unknown as TSchema

function pageOf({ plural, record, example }: Resource): Success {
  const position = (description: string) => orNull(Type.Integer({ minimum: 1, description }), 'integer')
  const path = `https://links.example.com/api/v1/${plural}`
  return {
    status: 200,
    description: `A page of ${plural}.`,
    headers: ['Link'],
    schema: Type.Object({
      data: Type.Array(record),
      links: Type.Object({
        first: pageUrl('The first page.'),
        last: pageUrl('The last page.'),
        prev: orNull(pageUrl('The page before; null on the first.'), 'string'),
        next: orNull(pageUrl('The page after; null on the last.'), 'string'),
      }),
      meta: Type.Object({
        current_page: Type.Integer({ minimum: 1 }),
        from: position('Position in the list of the first record of the page; null when it is empty.'),
        last_page: Type.Integer({ minimum: 1 }),
        path: pageUrl('The list, without a query.'),
        per_page: Type.Integer({ minimum: 1 }),
        to: position('Position in the list of the last record of the page; null when it is empty.'),
        total: Type.Integer({ minimum: 0, description: 'Records in the list; for a search, 10 000 at most.' }),
        total_is_exact: Type.Boolean({ description: 'False for a search with more than 10 000 matches.' }),
      }),
    }),
    example: {
      data: [example],
      links: { first: `${path}?page=1`, last: `${path}?page=1`, prev: null, next: null },
      meta: { current_page: 1, from: 1, last_page: 1, path, per_page: 10, to: 1, total: 1, total_is_exact: true },
    },
  }
}
