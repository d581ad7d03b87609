import type { ApiErrorCode } from '../../errors.ts'
import type { Field, Form } from '../../forms/form.ts'
import { idSchema } from '../../forms/json-schema.ts'
import type { Bodies } from '../document-query.ts'
import { maxIdempotencyKey } from '../idempotency.ts'
import { apiPrefix, type Operation } from '../operations.ts'
import { type HeaderName, headerReferences, onApiAnswers, optionalHeaders as optional } from './headers.ts'
import { problemReferences } from './problems.ts'
import { requestBody, type Schemas } from './schemas.ts'

const tagList = { type: 'string', pattern: '^([*]|.*".*".*)$' }

export const parameters = {
  Id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the record. A malformed or unknown id, or one of another account, is 404.',
    schema: { ...idSchema },
    example: 1,
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description: 'Your own id for the request in the log. An invalid one is replaced.',
    schema: { type: 'string', pattern: '^[\\w.-]{1,64}$' },
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The ETag of the record as you know it, such as `"3-2026-11-20T12:00:00.000Z"`, a list of ETags, or `*`. If the record has changed since, the answer is 412 and nothing happens: no update is lost.',
    schema: tagList,
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description:
      'The ETags that you have, or `*`. If the current one is among them, a GET is answered 304 without a body, any other method 412.',
    schema: tagList,
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Your own name for this request, such as `8e03978e-40d5-43e8-bc93-6894a57f9324`, bare or in double quotes. If you repeat the request with it within 24 hours, it is not done twice: you get the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 2 * maxIdempotencyKey + 2 },
  },
} as const

/** Failures of any request. */
export const failuresAnywhere: readonly ApiErrorCode[] = [
  'malformed_url',
  'malformed_request',
  'method_not_allowed',
  'request_timeout',
  'url_too_long',
  'headers_too_large',
  'internal_error',
  'shutting_down',
]

/** Failures of any request that requires a key. */
const failuresBehindKeys: readonly ApiErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'insufficient_scope',
  'rate_limited',
  'overloaded',
  'database_unavailable',
]

/** Returns the path items of all operations. */
export function pathItems(operations: readonly Operation[], schemas: Schemas, bodies: Bodies): Record<string, object> {
  const byPath = Map.groupBy(operations, ({ path }) => apiPrefix + path.replace(/:(\w+)/g, '{$1}'))
  return Object.fromEntries(
    [...byPath].map(([path, ofPath]) => [
      path,
      Object.fromEntries(
        ofPath.map((operation) => [operation.method.toLowerCase(), operationObject(operation, schemas, bodies)]),
      ),
    ]),
  )
}

function operationObject(operation: Operation, schemas: Schemas, bodies: Bodies): object {
  const { id, tag, summary, description, scope, query, body, headers = [] } = operation
  return {
    operationId: id,
    tags: [tag.name],
    summary,
    description: scope === null ? description : `${description}\n\nScope: \`${scope}\`.`,
    security: [{ apiKey: scope === null ? [] : [scope] }],
    parameters: [
      ...(hasId(operation) ? [{ $ref: '#/components/parameters/Id' }] : []),
      ...(query === undefined ? [] : queryParameters(query, schemas)),
      ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
      { $ref: '#/components/parameters/RequestId' },
    ],
    ...(body === undefined ? {} : { requestBody: requestBody(operation, body, schemas, bodies) }),
    responses: {
      [operation.success.status]: successResponse(operation, schemas),
      ...(operation.method === 'GET' && headers.includes('If-None-Match') ? notModified : {}),
      ...problemReferences(failuresOf(operation)),
    },
  }
}

const notModified = {
  304: {
    description: 'Nothing has changed: If-None-Match has the current ETag.',
    headers: headerReferences([...onApiAnswers, 'ETag']),
  },
}

function hasId({ path }: Operation): boolean {
  return path.includes('/:id')
}

function failuresOf(operation: Operation): ApiErrorCode[] {
  const ofPath: ApiErrorCode = hasId(operation) ? 'not_found' : 'route_not_found'
  return [...failuresAnywhere, ...failuresBehindKeys, ofPath, ...operation.failures]
}

/** Returns the parameters of a query form. */
export function queryParameters(query: Form<unknown>, schemas: Schemas): object[] {
  return Object.entries<Field<unknown>>(query.fields).map(([name, { schema, required }]) => {
    const { description, ...rest } = schemas.published(schema)
    return { name, in: 'query', required, description, schema: rest }
  })
}

function successResponse({ success }: Operation, schemas: Schemas): object {
  const { description, schema, example, examples, media = {}, headers = [], optionalHeaders = [] } = success
  const others = Object.entries(media).map(([type, { schema }]) => [
    type,
    schema ? { schema: schemas.published(schema) } : {},
  ])
  const shown = examples === undefined ? { example } : { examples }
  const json = schema && { 'application/json': { schema: schemas.published(schema), ...shown } }
  const content = { ...json, ...Object.fromEntries(others) }
  return {
    description,
    headers: {
      ...headerReferences([...onApiAnswers, ...(headers as readonly HeaderName[])]),
      ...optional(optionalHeaders as readonly HeaderName[]),
    },
    ...(Object.keys(content).length > 0 && { content }),
  }
}
