import { maxBody } from '../../../src/api/body.ts'
import { idempotencyKeyPattern } from '../../../src/api/idempotency.ts'
import { apiPrefix, type FileBody, type Operation, type Success } from '../../../src/api/operations.ts'
import type { ApiErrorCode } from '../../../src/errors.ts'
import { idSchema } from '../../../src/forms/json-schema.ts'
import { maxFields } from '../../../src/http/form-encoding.ts'
import { maxTargetBytes } from '../../../src/http/request-head.ts'
import { packageVersion, program } from '../../../src/version.ts'
import { headerReferences, headers, notModified, onApiAnswers, optionalHeaders } from './headers.ts'
import { failuresAnywhere, problemExamples, problemReferences, problemResponses, problemSchemas } from './problems.ts'
import { queryParameters, reference, requestBody, type Schema, Schemas } from './schemas.ts'
import { servicePaths, serviceSchemas, serviceTag } from './service.ts'

/** Returns the OpenAPI 3.1 document. `url` is the absolute URL of the instance, without a trailing slash. */
export function openApiDocument(operations: readonly Operation[], url: string): object {
  const schemas = new Schemas({ ...problemSchemas, ...serviceSchemas })
  const examples = problemExamples(operations)
  const paths = { ...pathItems(operations, schemas), ...servicePaths }
  const tags = [...new Map(operations.map(({ tag }) => [tag.name, tag])).values()]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waymark API',
      version: packageVersion,
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
      ...schemas.components(),
    },
  }
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'wm_…',
  description: `An API key: \`wm_\` and 49 letters and digits. The dashboard and \`${program} keys create\` create keys, and the first start of an empty instance prints one. Keys are accepted only in this header. Each operation names the scope that the key needs. The scope \`*\` includes all others.`,
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
  AddressId: {
    name: 'address_id',
    in: 'path',
    required: true,
    description: 'The id of a further address of the link.',
    schema: { ...idSchema },
    example: 2,
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

function pathItems(operations: readonly Operation[], schemas: Schemas): Record<string, object> {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const path = apiPrefix + operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][operation.method.toLowerCase()] = operationObject(operation, schemas)
  }
  return paths
}

function operationObject(operation: Operation, schemas: Schemas): object {
  const { id, tag, summary, description, scope, query, body, headers = [], method, success, failures } = operation
  const { emptySuccess, acceptedSuccess, file } = operation
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
      ...(operation.path.includes('/:address_id') ? [reference('parameters', 'AddressId')] : []),
      ...(query === undefined ? [] : queryParameters(query, schemas)),
      ...headers.map((name) => reference('parameters', name)),
      reference('parameters', 'RequestId'),
    ],
    // swagger-typescript-api sends no Content-Type with a body that is a component, unless it has this extension.
    ...(body && { requestBody: requestBody(body, schemas), 'x-contentType': 'application/json' }),
    ...(file && { requestBody: { required: true, content: fileContent(file) } }),
    responses: {
      [success.status]: successResponse(success, schemas),
      ...(acceptedSuccess && { 202: successResponse({ ...success, description: acceptedSuccess }, schemas) }),
      ...(emptySuccess && { 204: successResponse({ status: 204, description: emptySuccess }, schemas) }),
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

function fileContent({ media, example }: FileBody): object {
  const schema = { description: 'The file.' }
  return Object.fromEntries(media.map((type) => [type, type === 'application/json' ? { schema, example } : { schema }]))
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

const kib = (bytes: number) => `${bytes / 1024} KiB`

/** The description of the document, which applies to all operations. Its headings become sections of the reference. */
const guide = `
## Getting started

Waymark stores short links, their domains, and the spaces that you sort them into. To store a domain and a link, send an API key and
a form. The responses are JSON:

\`\`\`sh
curl -H "Authorization: Bearer $KEY" -d name=go.acme.com https://links.example.com${apiPrefix}/domains
curl -H "Authorization: Bearer $KEY" -d url=https://acme.com/summer -d alias=summer https://links.example.com${apiPrefix}/links
\`\`\`

## Authentication

Every operation of the API needs a key in the header \`Authorization: Bearer wm_…\`. Create keys in the dashboard, under API keys, or with
\`${program} keys create\`. A key belongs to one account and has scopes, such as \`links:write\`. A key without the scope of an operation
gets 403. \`GET ${apiPrefix}/me\` shows the scopes of a key.

## Requests

Send bodies as \`application/json\` or \`application/x-www-form-urlencoded\`, in UTF-8, with up to ${kib(maxBody)} and ${maxFields} fields. A URL
may have up to ${kib(maxTargetBytes)}. Fields that you **do not send** keep their values. Unknown and repeated fields are rejected. Fields
that the server assigns, such as \`id\`, are ignored, so you can send a record back unchanged.

## Values

The reference shows the JSON type of each field. These spellings are accepted too:

- **Text** is trimmed.
- **Integers** can be strings of digits in forms, queries and JSON: \`"3"\`, but not \`03\` or \`3.0\`.
- **Booleans** can be \`true\`, \`false\`, \`1\` or \`0\`, as JSON values or as strings.
- **Nullable** fields can have no value. Send \`null\` in JSON, or an empty string in JSON or a form: \`homepage_url=\` clears the field. When
you store a record, a field without a value gets its default. In responses, \`null\` means that the field has no value.
- **Times** in responses are RFC 3339 in UTC. In requests, \`2026-12-31 23:59\` means UTC too.

## Responses

A record is \`{"data": {…}}\`. A list also has \`links\` and \`meta\`. \`X-Request-Id\` identifies the request in the server's log. New versions only
add fields to ${apiPrefix}, so ignore unknown fields.

**HEAD** works wherever GET does. **OPTIONS** returns 204 with the methods of the path in \`Allow\`. Other methods return 405. OPTIONS
requests and 405 responses need no key.

## Lists

Use \`page\` for people who browse a list, and \`after\` for programs that read the whole list. \`after=ID\` returns the records after that id,
in the order of ids, so concurrent changes never repeat or skip a record. Read the first page, request
\`after=\` with the id of its last record, and then follow \`links.next\`. \`links.next\` keeps using the parameter that you started with.

A list has an **ETag** of its content. With \`If-None-Match\`, the response is 304 while nothing has changed.

## Errors

Every failure is the same kind of object. Programs should use \`code\`, whose meaning never changes. \`detail\` explains the error to people,
and \`type\` is a page that says what to do. For 422 and 409, \`violations\` lists **all** invalid fields, each with a code and a sentence, and
\`errors\` groups the sentences by field. The media type is \`application/problem+json\`, unless \`Accept\` names only \`application/json\`.

If a request has several errors, you get the first one in this order: malformed request or URL (400), path (404), method (405), key (401),
rate limit (429), scope (403), media type (415), body size (413), body syntax (400), syntax of If-Match, If-None-Match or
Idempotency-Key (400), record (404), version of the record (412), fields (422), conflict (409).

## Lost updates

Every record has an **ETag**, which changes with the record. Send it in \`If-Match\` with PUT, PATCH or DELETE. If the record has changed
since you read it, the response is 412 with the current ETag, and nothing changes. Send it in \`If-None-Match\` with GET to get 304
without a body while nothing has changed. The ETag of a link also changes with its clicks, but \`If-Match\` ignores clicks.

## Safe retries

If a POST gets no response, you can't know whether it succeeded. Give each POST its own \`Idempotency-Key\`, and repeat the request as often
as you like. For 24 hours, the record is stored only once, and every repetition gets the first response with
\`Idempotency-Replayed: true\`. A different request with the same key gets 422. While the first request is running, the response
may be 409 with \`Retry-After\`. Failures store nothing, so you can use the key again. Each API key has its own Idempotency-Keys.

## Rate limits

Each API key has a limit of requests per minute, and each client IP address a limit of failed authentications. \`RateLimit-Policy\` shows the
limit, and \`RateLimit\` and \`X-RateLimit-*\` show the remaining requests. When the limit is reached, the response is 429, and
\`Retry-After\` is the number of seconds to wait. If an operator turns the limits off, these headers are absent.

## Browsers and compression

Pages of other origins may use the API if the operator lists their origin in \`CORS_ORIGINS\`. JSON over 1 KiB is compressed if
\`Accept-Encoding\` allows \`gzip\`. The ETag then ends in \`-gzip\`, and conditions accept both forms.

## Code generators

\`/openapi.json\` describes every operation in OpenAPI 3.1. Each body is described first as JSON, with the JSON type of each field, and then
as a form. For TypeScript, openapi-typescript, orval, swagger-typescript-api and others read it with their default options.
`.trim()
