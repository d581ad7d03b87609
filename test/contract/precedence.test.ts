/** Which of several errors is returned: each pair of neighbors in the order of the contract, for every operation where possible. */
import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { operations } from '../../src/app/operations.ts'
import type { ErrorCode } from '../../src/errors.ts'
import { failures } from '../../src/http/failures.ts'
import { startApp } from '../app.ts'
import { assertProblem, type Request } from '../client.ts'
import { stopClock } from '../clock.ts'

stopClock({ mock })
after(() => mock.timers.reset())

const app = await startApp()
const limited = await startApp({ rateLimit: 1 })
const domains = '/api/v1/domains'
const unknown = `${domains}/999`
await app.send('POST', domains, { form: { name: 'taken.acme.com' } })
const stored = { form: { name: 'first.acme.com' }, headers: { 'idempotency-key': 'precedence' } }
assert.equal((await app.send('POST', domains, stored)).status, 201)

/** A key that has used its one request of this minute. */
const exhausted = await limited.createKey({ scopes: ['domains:read'] })
assert.equal((await limited.send('GET', domains, { key: exhausted })).status, 200)

const open: Request = { key: null }
const wrong: Request = { key: 'wm_wrong' }
const readScope = 'domains:read'
const reader: Request = { key: await app.createKey({ scopes: [readScope] }) }
const late: Request = { key: exhausted }
const large = Buffer.alloc(70_000, 'a')
const tooLarge: Request = { form: large.toString() }
const badForm: Request = { form: 'name=%zz' }
const gzip = { 'content-type': 'text/plain', 'content-encoding': 'gzip' }
const compressed: Request = { body: large, headers: gzip }
const malformed = { 'if-match': 'malformed', 'if-none-match': 'malformed', 'idempotency-key': 'not one' }
const failing = { 'if-match': '"x"', 'if-none-match': '"x"', 'idempotency-key': 'not one' }
const other: Request = { form: { zzz: '1', name: 'a_b' } }
const invalid = { name: 'taken.acme.com', homepage_url: 'nonsense' }

/** The path of an operation on an unknown record. */
const unknownRecord = (path: string) => `/api/v1${path.replace(/:\w+/g, '999')}`

type Case = readonly [code: ErrorCode, method: string, path: string, request?: Request]

const cases: Readonly<Record<string, readonly Case[]>> = {
  '400 for a malformed URL before 404, 405 and 401': [
    ['malformed_url', 'GET', '/nowhere/%zz', open],
    ['malformed_url', 'GET', '/nowhere?%zz', open],
    ['malformed_url', 'DELETE', `${domains}?a=%zz`, open],
    ['malformed_url', 'GET', `${domains}/%ff`, open],
    ['malformed_url', 'GET', `${domains}?search=%ff`, wrong],
  ],
  '404 for an unknown route before 401': [['route_not_found', 'GET', '/api/v1/nowhere', open]],
  '405 before 401, 415, 413 and 400': [
    ['method_not_allowed', 'DELETE', domains, open],
    ['method_not_allowed', 'PATCH', domains, compressed],
  ],
  '401 before 429, 403, 415, 404 and 422': operations.flatMap(({ method, path }): Case[] => [
    ['missing_api_key', method, `${unknownRecord(path)}?zzz=1`, { ...open, ...compressed }],
    ['invalid_api_key', method, `${unknownRecord(path)}?zzz=1`, wrong],
  ]),
  '429 before 403, 415, 404 and 422': operations.flatMap(({ method, path }): Case[] => [
    ['rate_limited', method, `${unknownRecord(path)}?zzz=1`, late],
    ['rate_limited', method, unknownRecord(path), { ...late, ...compressed }],
  ]),
  '403 before 415, 413, 400, 404 and 422': operations
    .filter(({ scope }) => scope !== null && scope !== readScope)
    .flatMap(({ method, path }) =>
      [compressed, tooLarge, badForm, {}].map(
        (request): Case => ['insufficient_scope', method, unknownRecord(path), { ...reader, ...request }],
      ),
    ),
  '401, 429 and 403 before 400 of a condition or an Idempotency-Key, and before 412 and 304': operations.flatMap(
    ({ method, path, scope }) =>
      [malformed, failing].flatMap((headers): Case[] => [
        ['missing_api_key', method, unknownRecord(path), { ...open, headers }],
        ['rate_limited', method, unknownRecord(path), { ...late, headers }],
        ...(scope === null || scope === readScope
          ? []
          : [['insufficient_scope', method, unknownRecord(path), { ...reader, headers }] as const]),
      ]),
  ),
  '415 before 413, and 413 before 400': [
    ['unsupported_media_type', 'POST', domains, compressed],
    ['body_too_large', 'POST', domains, { form: `name=%zz${large}` }],
  ],
  '415, 413 and 400 of the body before 404': ['PUT', 'PATCH'].flatMap((method): Case[] => [
    ['unsupported_media_type', method, unknown, { body: 'x', headers: gzip }],
    ['body_too_large', method, unknown, tooLarge],
    ['malformed_body', method, unknown, badForm],
  ]),
  '415, 413 and 400 of the body before 400 of a condition or an Idempotency-Key': [
    ['PATCH', `${domains}/1`],
    ['POST', domains],
  ].flatMap(([method = '', path = '']): Case[] => [
    ['unsupported_media_type', method, path, { body: 'x', headers: { ...malformed, ...gzip } }],
    ['body_too_large', method, path, { ...tooLarge, headers: malformed }],
    ['malformed_body', method, path, { ...badForm, headers: malformed }],
  ]),
  '400 of a condition before 404': operations
    .filter(({ path, headers }) => headers?.includes('If-Match') && path.includes(':'))
    .map(({ method, path }): Case => ['malformed_request', method, unknownRecord(path), { headers: malformed }]),
  '400 of an Idempotency-Key before 422': [['malformed_request', 'POST', domains, { ...other, headers: malformed }]],
  '404 before 412 and 422': operations
    .filter(({ method, path }) => method.startsWith('P') && path.includes(':'))
    .flatMap(({ method, path }): Case[] => [
      ['not_found', method, unknownRecord(path), other],
      ...(method === 'POST'
        ? []
        : [['not_found', method, unknownRecord(path), { ...other, headers: failing }] as const]),
    ]),
  '412 before 422': [['precondition_failed', 'PATCH', `${domains}/1`, { ...other, headers: failing }]],
  '422 of the fields before 422 of the Idempotency-Key, and both before 409': [
    ['validation_failed', 'POST', domains, { form: invalid, headers: stored.headers }],
    ['idempotency_key_reused', 'POST', domains, { form: { name: invalid.name }, headers: stored.headers }],
    ['validation_failed', 'POST', domains, { form: invalid }],
    ['name_taken', 'POST', domains, { form: { name: invalid.name } }],
  ],
}

for (const [title, requests] of Object.entries(cases)) {
  test(title, async () => {
    for (const [code, method, path, request] of requests) {
      const to = request?.key === exhausted ? limited : app
      assertProblem(await to.send(method, path, request), failures[code].status, code)
    }
  })
}
