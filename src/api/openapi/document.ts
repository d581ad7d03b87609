import type { ApiErrorCode } from '../../errors.ts'
import { idSchema } from '../../forms/json-schema.ts'
import { version } from '../../version.ts'
import { idempotencyKeyPattern } from '../idempotency.ts'
import { apiPrefix, type Operation, type Success } from '../operations.ts'
import { guide } from './guide.ts'
import { headerReferences, headers, notModified, onApiAnswers, optionalHeaders } from './headers.ts'
import { failuresAnywhere, problemExamples, problemReferences, problemResponses, problemSchemas } from './problems.ts'
import { type Bodies, queryParameters, reference, requestBody, type Schema, Schemas } from './schemas.ts'
import { servicePaths, serviceSchemas, serviceTag } from './service.ts'

/** Returns the OpenAPI 3.1 document. `url` is the absolute URL of the instance, without a trailing slash. */
export function openApiDocument(operations: readonly Operation[], url: string, bodies: Bodies = 'all'): object {
  const schemas = new Schemas({ ...problemSchemas, ...serviceSchemas })
  const examples = problemExamples(operations)
  const paths = { ...pathItems(operations, schemas, bodies), ...servicePaths }
  const tags = [...new Map(operations.map(({ tag }) => [tag.name, tag])).values()]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waymark API',
      version,
      summary: 'Manages short links, domains and spaces.',
      description: guide,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url, description: 'The instance that served this document.' }],
    tags: [...tags, serviceTag],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey },
      parameters,
      headers,
      examples,
      responses: problemResponses(examples),
      schemas: schemas.components(),
    },
  }
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'wm_…',
  description:
    'An API key: `wm_` and 49 letters and digits. The dashboard and `npx waymark keys create` create keys, and the first start of an empty instance prints one. Keys are accepted only in this header. Each operation names the scope that the key needs. The scope `*` includes all others.',
}

const requestHeader = (name: string, description: string, schema: Schema) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
})

const tagList = { type: 'string', pattern: '^([*]|.*".*".*)$' }

const parameters = {
  Id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The record’s id. The response is 404 if the id is malformed, unknown or belongs to another account.',
    schema: { ...idSchema },
    example: 1,
  },
  RequestId: requestHeader(
    'X-Request-Id',
    'Your own id for the request in the server’s log. The server replaces an invalid id.',
    headers['X-Request-Id'].schema,
  ),
  'If-Match': requestHeader(
    'If-Match',
    'The ETag of the record when you read it, such as `"3-2026-11-20T12:00:00.000Z"`, a list of ETags, or `*`. If the record has changed since, the response is 412 and nothing changes.',
    tagList,
  ),
  'If-None-Match': requestHeader(
    'If-None-Match',
    'The ETags that you have, or `*`. If they include the current ETag, the response to GET is 304 without a body, and to any other method 412.',
    tagList,
  ),
  'Idempotency-Key': requestHeader(
    'Idempotency-Key',
    'Your own name for this request, such as `8e03978e-40d5-43e8-bc93-6894a57f9324`: 1 to 255 visible ASCII characters, with or without double quotes. If you repeat the request with the same key within 24 hours, it does not run twice: you get the first response again.',
    { type: 'string', pattern: idempotencyKeyPattern },
  ),
}

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

function pathItems(operations: readonly Operation[], schemas: Schemas, bodies: Bodies): Record<string, object> {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const path = apiPrefix + operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][operation.method.toLowerCase()] = operationObject(operation, schemas, bodies)
  }
  return paths
}

function operationObject(operation: Operation, schemas: Schemas, bodies: Bodies): object {
  const { id, tag, summary, description, scope, query, body, headers = [], method, success, failures } = operation
  const hasId = operation.path.includes('/:id')
  const isConditional = method === 'GET' && headers.includes('If-None-Match')
  return {
    operationId: id,
    tags: [tag.name],
    summary,
    description: scope === null ? description : `${description}\n\nScope: \`${scope}\`.`,
    security: [{ apiKey: scope === null ? [] : [scope] }],
    parameters: [
      ...(hasId ? [reference('parameters', 'Id')] : []),
      ...(query === undefined ? [] : queryParameters(query, schemas)),
      ...headers.map((name) => reference('parameters', name)),
      reference('parameters', 'RequestId'),
    ],
    ...(body && { requestBody: requestBody(operation, body, schemas, bodies) }),
    responses: {
      [success.status]: successResponse(success, schemas),
      ...(isConditional && { 304: notModified([...onApiAnswers, 'ETag']) }),
      ...problemReferences([
        ...failuresAnywhere,
        ...failuresBehindKeys,
        hasId ? 'not_found' : 'route_not_found',
        ...failures,
      ]),
    },
  }
}

function successResponse(success: Success, schemas: Schemas): object {
  const { description, schema, example, examples, media = {}, headers = [], optionalHeaders: optional = [] } = success
  const json = schema && { schema: schemas.published(schema), ...(examples ? { examples } : { example }) }
  const others = Object.entries(media).map(([type, { schema }]) => [
    type,
    schema ? { schema: schemas.published(schema) } : {},
  ])
  const content = { ...(json && { 'application/json': json }), ...Object.fromEntries(others) }
  return {
    description,
    headers: { ...headerReferences([...onApiAnswers, ...headers]), ...optionalHeaders(optional) },
    ...(Object.keys(content).length > 0 && { content }),
  }
}
