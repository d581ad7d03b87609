/** Response headers by name. Headers without `required` are sent in the cases that their description names. */
export const headers = {
  'X-Request-Id': {
    description: 'Names the request in the log: your own id if you sent a valid one.',
    required: true,
    schema: { type: 'string', pattern: '^[\\w.-]{1,64}$' },
    example: 'order-4711',
  },
  'X-Content-Type-Options': {
    description: 'Keeps browsers from guessing the media type.',
    required: true,
    schema: { type: 'string', const: 'nosniff' },
    example: 'nosniff',
  },
  'Cache-Control': {
    description:
      'Caches must ask again before they use the answer. Those that took a key are private. Absent when the key was not reached.',
    schema: { type: 'string' },
    example: 'private, no-cache',
  },
  Vary: {
    description:
      'The request headers that the answer depends on: `Accept` for problems, `Accept-Encoding` for compression.',
    required: true,
    schema: { type: 'string' },
    example: 'Accept',
  },
  'WWW-Authenticate': {
    description: 'What is wrong with the key, or which scope it lacks (RFC 6750).',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="api", error="invalid_token"',
  },
  Allow: {
    description: 'The methods that the path answers.',
    required: true,
    schema: { type: 'string' },
    example: 'GET, HEAD, POST, OPTIONS',
  },
  'Retry-After': {
    description: 'Seconds to wait before you try again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  Location: {
    description: 'The absolute URL of the new record.',
    required: true,
    schema: { type: 'string', format: 'uri' },
    example: 'https://links.example.com/api/v1/domains/1',
  },
  ETag: {
    description:
      'Names the current state and changes whenever that does (RFC 9110 §8.8.3). For If-Match and If-None-Match.',
    required: true,
    schema: { type: 'string', pattern: '^"[!#-~]+"$' },
    example: '"3-2026-11-20T12:00:00.000Z"',
  },
  'Content-Disposition': {
    description: 'What to call the answer if it is saved as a file (RFC 6266).',
    required: true,
    schema: { type: 'string' },
    example: 'inline; filename="link-1.svg"',
  },
  'Content-Security-Policy': {
    description: 'Keeps browsers from loading or running anything that the answer names.',
    required: true,
    schema: { type: 'string' },
    example: "default-src 'none'; sandbox",
  },
  'Content-Encoding': {
    description: 'How the answer is compressed, if Accept-Encoding allows it.',
    schema: { type: 'string', enum: ['br', 'gzip'] },
    example: 'br',
  },
  'Idempotency-Replayed': {
    description: 'Sent when this is the answer to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  Link: {
    description: 'The first, last, previous and next page (RFC 8288), as in `links`.',
    required: true,
    schema: { type: 'string' },
    example: '<https://links.example.com/api/v1/domains?page=1>; rel="first"',
  },
  'X-RateLimit-Limit': {
    description: 'Requests that the window allows. All rate-limit headers are absent when rate limits are off.',
    schema: { type: 'integer', minimum: 1 },
    example: 6000,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in this window.',
    schema: { type: 'integer', minimum: 0 },
    example: 5988,
  },
  'X-RateLimit-Reset': {
    description: 'When the window ends, in Unix seconds.',
    schema: { type: 'integer', minimum: 0 },
    example: 1795176000,
  },
  'RateLimit-Policy': {
    description:
      'The limit in the form of the IETF draft: `q` requests in `w` seconds, for each API key (`key`) or, on failed authentications, for each client address (`address`).',
    schema: { type: 'string' },
    example: '"key";q=6000;w=60',
  },
  'Access-Control-Allow-Origin': {
    description: 'The origin whose pages may read the answer, if CORS_ORIGINS allows it. Never with credentials.',
    schema: { type: 'string' },
    example: 'https://app.example.com',
  },
  'Access-Control-Expose-Headers': {
    description: 'The headers that such a page may read.',
    schema: { type: 'string' },
    example: 'ETag, Link, Location',
  },
  RateLimit: {
    description: 'What is left: `r` requests, and `t` seconds until the window ends.',
    schema: { type: 'string' },
    example: '"key";r=5988;t=12',
  },
} as const

export type HeaderName = keyof typeof headers

/** The headers of every response of the server. */
export const onEveryAnswer = ['X-Request-Id', 'X-Content-Type-Options'] as const satisfies readonly HeaderName[]

/** The headers of every response to a readable API request. */
export const onApiAnswers = [
  ...onEveryAnswer,
  'Cache-Control',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
] as const satisfies readonly HeaderName[]

/** Returns references to these headers for a response. */
export function headerReferences(names: readonly HeaderName[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Returns headers that only some responses have. */
export function optionalHeaders(names: readonly HeaderName[]): object {
  return Object.fromEntries(names.map((name) => [name, { ...headers[name], required: false }]))
}

/** Finds a header by its name in any case. Throws if it is not documented. */
export function headerNamed(name: string): HeaderName {
  const known = (Object.keys(headers) as HeaderName[]).find((each) => each.toLowerCase() === name.toLowerCase())
  if (known === undefined) throw new Error(`The header ${name} is not documented`)
  return known
}
