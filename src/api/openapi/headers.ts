/** The headers of answers, by name. A header without `required` is sent where its description says. */
export const headers = {
  'X-Request-Id': {
    description: 'Names the request in the log: the caller’s own id where it sent a usable one.',
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
      'What a key can read stays private and is asked for anew. On every answer to a request that came as far as its key.',
    schema: { type: 'string' },
    example: 'private, no-cache',
  },
  Vary: {
    description:
      'A problem is `application/json` to those who ask for that, and `application/problem+json` to all others.',
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
    description: 'Seconds after which trying again makes sense.',
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
      'Names this very state of the record: it is another one after every change (RFC 9110 §8.8.3). For If-Match and If-None-Match.',
    required: true,
    schema: { type: 'string', pattern: '^"[!#-~]+"$' },
    example: '"3-2026-11-20T12:00:00.000Z"',
  },
  'Idempotency-Replayed': {
    description: 'Sent when this is the answer that an earlier request with the same Idempotency-Key got.',
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
    description: 'Requests that the window allows. Absent where rate limits are off, as are the four headers like it.',
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
  RateLimit: {
    description: 'What is left: `r` requests, and `t` seconds until the window ends.',
    schema: { type: 'string' },
    example: '"key";r=5988;t=12',
  },
} as const

export type HeaderName = keyof typeof headers

/** On every answer of the server. */
export const onEveryAnswer = ['X-Request-Id', 'X-Content-Type-Options'] as const satisfies readonly HeaderName[]

/** On every answer to a request for the API that could be read. */
export const onApiAnswers = [
  ...onEveryAnswer,
  'Cache-Control',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const satisfies readonly HeaderName[]

/** References to the headers, for a response. */
export function headerReferences(names: readonly HeaderName[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Headers that only some of the answers have. */
export function optionalHeaders(names: readonly HeaderName[]): object {
  return Object.fromEntries(names.map((name) => [name, { ...headers[name], required: false }]))
}

/** The header that `name` names, in any case. */
export function headerNamed(name: string): HeaderName {
  const known = (Object.keys(headers) as HeaderName[]).find((each) => each.toLowerCase() === name.toLowerCase())
  if (known === undefined) throw new Error(`The header ${name} is not documented`)
  return known
}
