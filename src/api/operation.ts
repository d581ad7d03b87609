import type { ApiErrorCode } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import type { TSchema } from '../forms/json-schema.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { NeededScope } from '../keys/scope.ts'

/** Under which every operation has its path. */
export const apiPrefix = '/api/v1'

/** What an operation is, for the guard at the door and for the API's documents. */
export interface Operation {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Under `apiPrefix`, as the router writes it: `/domains/:id`. */
  readonly path: string
  readonly tag: { readonly name: string; readonly description: string }
  readonly summary: string
  readonly description: string
  /** The scope that the key must have; null if any key will do. */
  readonly scope: NeededScope | null
  readonly query?: Form<unknown>
  readonly body?: Body
  /** The request headers that it takes beyond those of every operation. */
  readonly headers?: readonly RequestHeader[]
  /** Query or body fields that do not hold: the documents show the answer to them. */
  readonly refused?: Fields
  readonly success: Success
  /** What can go wrong here, beyond what can go wrong everywhere. */
  readonly failures: readonly ApiErrorCode[]
}

export type RequestHeader = 'If-Match' | 'If-None-Match' | 'Idempotency-Key'

export interface Body {
  /** Of its schema: `StoreDomain`. */
  readonly name: string
  readonly form: Form<unknown>
  readonly example: Fields
}

export interface Success {
  readonly status: 200 | 201 | 204
  readonly description: string
  /** Of an answer in JSON. */
  readonly schema?: TSchema
  readonly example?: unknown
  /** Where one does not do: by name, each with a sentence. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>
  /** The media types of any other answer. */
  readonly media?: Readonly<Record<string, { readonly schema?: TSchema }>>
  readonly headers?: readonly string[]
  /** Those that some of its answers have. */
  readonly optionalHeaders?: readonly string[]
}
