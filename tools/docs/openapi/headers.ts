import { reference, type Schema } from './schemas.ts'

const text: Schema = { type: 'string' }

const always = (description: string, example: string | number, schema = text) => ({
  description,
  required: true,
  schema,
  example,
})

/** A header that responses have in the cases that its description names. */
const sometimes = (description: string, example: string | number, schema = text) => ({ description, schema, example })

export const headers = {
  'X-Request-Id': always('The request’s id in the server’s log: your own id if you sent a valid one.', 'order-4711', {
    type: 'string',
    pattern: '^[\\w.-]{1,64}$',
  }),
  'X-Content-Type-Options': always('Prevents browsers from guessing the media type.', 'nosniff', {
    type: 'string',
    const: 'nosniff',
  }),
  'Cache-Control': sometimes(
    'Caches must revalidate the response. Responses to requests with a key are private. Absent if the request failed before the key was checked.',
    'private, no-cache',
  ),
  Vary: always(
    'The request headers that select the response: `Accept` for problems, `Accept-Encoding` for compression.',
    'Accept',
  ),
  'WWW-Authenticate': always(
    'The error of the key, or the missing scope (RFC 6750).',
    'Bearer realm="api", error="invalid_token"',
  ),
  Allow: always('The methods that the path supports.', 'GET, HEAD, POST, OPTIONS'),
  'Retry-After': always('Seconds to wait before the next attempt.', 12, { type: 'integer', minimum: 1 }),
  Location: always('The absolute URL of the new record.', 'https://links.example.com/api/v1/domains/1', {
    type: 'string',
    format: 'uri',
  }),
  ETag: always(
    'Identifies the current version, for If-Match and If-None-Match (RFC 9110 §8.8.3).',
    '"3-2026-11-20T12:00:00.000Z"',
    { type: 'string', pattern: '^"[!#-~]+"$' },
  ),
  'Content-Disposition': always('The file name for saving the response (RFC 6266).', 'inline; filename="link-1.svg"'),
  'Content-Security-Policy': always(
    'Prevents browsers from loading or running anything in the response.',
    "default-src 'none'; sandbox",
  ),
  'Content-Encoding': sometimes('The compression, if Accept-Encoding allows it.', 'br', {
    type: 'string',
    enum: ['br', 'gzip'],
  }),
  'Idempotency-Replayed': sometimes(
    'Present if this is the response to an earlier request with the same Idempotency-Key.',
    'true',
    { type: 'string', const: 'true' },
  ),
  Link: always(
    'The first, last, previous and next page, as in `links` (RFC 8288).',
    '<https://links.example.com/api/v1/domains?page=1>; rel="first"',
  ),
  'X-RateLimit-Limit': sometimes(
    'Allowed requests in the window. All rate-limit headers are absent when rate limits are off.',
    6000,
    { type: 'integer', minimum: 1 },
  ),
  'X-RateLimit-Remaining': sometimes('Remaining requests in this window.', 5988, { type: 'integer', minimum: 0 }),
  'X-RateLimit-Reset': sometimes('The end of the window, in Unix seconds.', 1795176000, {
    type: 'integer',
    minimum: 0,
  }),
  'RateLimit-Policy': sometimes(
    'The limit in the format of the IETF draft: `q` requests in `w` seconds for each API key (`key`). For failed authentications, for each client IP address (`address`).',
    '"key";q=6000;w=60',
  ),
  'Access-Control-Allow-Origin': sometimes(
    'The origin whose pages may read the response, if CORS_ORIGINS allows it. Credentials are never allowed.',
    'https://app.example.com',
  ),
  'Access-Control-Expose-Headers': sometimes('The headers that pages of the origin may read.', 'ETag, Link, Location'),
  RateLimit: sometimes(
    'The remaining requests (`r`), and the seconds until the window ends (`t`).',
    '"key";r=5988;t=12',
  ),
}

type HeaderName = keyof typeof headers

/** The headers of every response of the server. */
export const onEveryAnswer: readonly HeaderName[] = ['X-Request-Id', 'X-Content-Type-Options']

/** The headers of every response to a readable API request. */
export const onApiAnswers: readonly HeaderName[] = [
  ...onEveryAnswer,
  'Cache-Control',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
]

export function headerReferences(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, reference('headers', name)]))
}

/** Returns headers that only some responses have. */
export function optionalHeaders(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { ...headers[name as HeaderName], required: false }]))
}

/** Returns the response to a client that has the current state. */
export function notModified(names: readonly HeaderName[]): object {
  return { description: 'Nothing has changed: If-None-Match has the current ETag.', headers: headerReferences(names) }
}
