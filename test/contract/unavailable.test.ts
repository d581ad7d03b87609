/** 500 and 503, and the log. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { operations } from '../../src/app/operations.ts'
import { databaseUnavailable, overloaded } from '../../src/errors.ts'
import { Overload } from '../../src/http/overload.ts'
import { startApp } from '../app.ts'
import { type Answer, assertProblem, type Request } from '../client.ts'
import { failing } from '../failing-storage.ts'
import { newPlace } from '../links-api.ts'
import { prepareRequest } from '../requests.ts'

let fault: unknown
const app = await startApp({ storage: failing(() => fault), expectsBugs: true })

/** Runs the work while every call of the database throws this value. */
async function whileThrowing(thrown: unknown, work: () => Promise<void>): Promise<void> {
  // Caches what a request reads before its operation.
  for (const { key } of [app, place]) assert.equal((await app.send('GET', '/api/v1/spaces', { key })).status, 200)
  fault = thrown
  await work().finally(() => {
    fault = undefined
  })
}

/** Every operation, with a valid request. */
const requests: [method: string, path: string, request: Request][] = []
const place = await newPlace(app)
for (const operation of operations) {
  const { path, query, request } = await prepareRequest(app, place, operation)
  requests.push([operation.method, `/api/v1${path}${query}`, { ...request, key: place.key }])
}

/** Without requests whose work runs in threads, which have their own connections. */
const local = requests.filter(([, path]) => !/bulk|imports|clicks$/.test(path))

function assertUnavailable(answer: Answer, code: string): void {
  assertProblem(answer, 503, code)
  assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
}

describe('a bug', () => {
  const secret = 'select hash from keys where id = 1'

  test('500 with the request id and nothing else, which the log explains', async () => {
    await whileThrowing(new TypeError(secret), async () => {
      for (const [method, path, request] of local) {
        const answer = await app.send(method, path, request)
        assertProblem(answer, 500, 'internal_error')
        assert.doesNotMatch(answer.text, /select|TypeError|\.ts|node:| at /)
        const logged = app.logs.filter(({ request_id }) => request_id === answer.body.request_id)
        const error = logged.find(({ level }) => level === 50)?.err as { message: string; stack: string } | undefined
        assert.equal(error?.message, secret)
        assert.match(error.stack, /TypeError/)
      }
    })
  })

  test('500 for every thrown value', async () => {
    for (const thrown of [
      Object.assign(new Error(secret), { statusCode: 404 }),
      Object.assign(new Error(secret), { code: 'not_found', facts: {} }),
      Object.assign(new Error(secret), { validation: [{}], statusCode: 400 }),
      ...[secret, null, 404, { statusCode: 200, message: secret }],
    ]) {
      await whileThrowing(thrown, async () => {
        const answer = await app.send('GET', '/api/v1/spaces')
        assertProblem(answer, 500, 'internal_error')
        assert.doesNotMatch(answer.text, /select/)
      })
    }
  })
})

describe('503', () => {
  test('database_unavailable with Retry-After on every operation and on /health while the database is down', async () => {
    assert.deepEqual((await app.send('GET', '/health', { key: null })).body, { status: 'ok' })
    const unknownKey = await app.createKey()
    await whileThrowing(databaseUnavailable(new Error('disk full: select')), async () => {
      for (const [method, path, request] of [...local, ['GET', '/health', {}] as const]) {
        const answer = await app.send(method, path, request)
        assertUnavailable(answer, 'database_unavailable')
        assert.doesNotMatch(answer.text, /select|disk/)
      }
      // Not 401: the key can't be looked up.
      assertUnavailable(await app.send('GET', '/api/v1/domains', { key: unknownKey }), 'database_unavailable')
      assertProblem(await app.send('GET', '/api/v1/domains', { key: 'wm_wrong' }), 401, 'invalid_api_key')
    })
    assert.equal((await app.send('GET', '/health')).status, 200)
  })

  // `src/http/overload.test.ts` tests when the server is overloaded.
  test('overloaded with Retry-After on every operation but /health under overload', async (t) => {
    t.mock.method(Overload.prototype, 'refusal', () => overloaded('The server is overloaded.'))
    for (const [method, path, request] of requests)
      assertUnavailable(await app.send(method, path, { ...request, seesOverload: true }), 'overloaded')
    assert.equal((await app.send('GET', '/health', { seesOverload: true })).status, 200)
  })

  test('shutting_down for every request after the server began to stop', async () => {
    const stopping = await startApp()
    stopping.listener.isDraining = true
    const others = [['GET', '/nowhere', {}] as const, ['OPTIONS', '/health', {}] as const]
    for (const [method, path, request] of [...requests, ...others]) {
      const answer = await stopping.send(method, path, { ...request, key: null })
      assertUnavailable(answer, 'shutting_down')
      assert.equal(answer.headers.connection, 'close')
    }
  })
})

describe('the log', () => {
  const lineOf = async ({ headers }: Answer) => {
    const found = () => app.logs.filter(({ request_id }) => request_id === headers['x-request-id'])
    while (found().length === 0) await nextTurn()
    const lines = found()
    assert.equal(lines.length, 1)
    return lines[0] ?? {}
  }
  const logged = async (method: string, path: string, request?: Request) =>
    lineOf(await app.send(method, path, request))

  test('has one structured line for each request', async () => {
    const { key, secret } = await app.issueKey()
    for (const [method, path, status, route, code] of [
      ['GET', '/api/v1/domains', 200, '/api/v1/domains', undefined],
      ['POST', '/api/v1/domains', 422, '/api/v1/domains', 'validation_failed'],
      ['GET', '/api/v1/domains/7', 404, '/api/v1/domains/:id', 'not_found'],
    ] as const) {
      const headers = { 'x-request-id': `a${status}` }
      const { ms, time, pid: _, hostname: __, ...line } = await logged(method, path, { key: secret, headers })
      assert.ok(Number(ms) >= 0 && Date.parse(String(time)) > 0)
      assert.deepEqual(line, {
        ...{ level: 30, request_id: `a${status}`, method, route, status, account: app.account, key: key.id },
        ...(code && { code }),
        msg: 'request',
      })
    }
  })

  test('has a line for each request that was rejected before its route was found', async () => {
    for (const [path, expected] of [
      ['/nowhere', 404],
      ['/%zz', 400],
      ['/api/v1/domains', 401],
    ] as const) {
      const { status, account } = await logged('GET', path, { key: null })
      assert.deepEqual([status, account], [expected, undefined])
    }
    const [garbage] = await app.raw('GARBAGE\r\n\r\n')
    assert.equal((await lineOf(garbage as Answer)).status, 400)
  })

  test('contains no key, query, body or header', async () => {
    const secret = 'Hush-Hush'
    const search = `/api/v1/spaces?search=${secret}`
    const before = app.logs.length
    for (const path of [search, `/nowhere/${secret}?x=${secret}`, `/api/v1/spaces/${secret}`, `/%zz${secret}`])
      await app.send('GET', path, { headers: { 'user-agent': secret, cookie: secret, referer: secret } })
    for (const form of [{ name: secret, [secret]: secret }, { name: secret }])
      await app.send('POST', '/api/v1/spaces', { form })
    await app.send('GET', '/api/v1/spaces', { key: `wm_${secret}` })
    await app.raw(`GET /${secret} HTTP/9.9\r\nX: ${secret}\r\n\r\n`)
    const log = JSON.stringify(app.logs)
    assert.ok(app.logs.length >= before + 8)
    assert.ok(!log.includes(secret), log)
    assert.ok(!log.includes(app.key.slice(3, 20)))
  })
})
