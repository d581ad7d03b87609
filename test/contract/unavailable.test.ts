/** 500 and 503, and the log. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { databaseUnavailable } from '../../src/errors.ts'
import { startApp, type TestApp } from '../app.ts'
import { type Answer, assertProblem } from '../client.ts'
import { failing } from '../failing-storage.ts'

const operations = ['domains', 'spaces', 'links'].flatMap((resource) => {
  const path = `/api/v1/${resource}`
  return [
    ['GET', path, {}],
    ['GET', `${path}/1`, {}],
    ['POST', path, { form: resource === 'links' ? { url: 'https://acme.com' } : { name: 'go.acme.com' } }],
    ['PUT', `${path}/1`, {}],
    ['PATCH', `${path}/1`, { form: { name: '' } }],
    ['DELETE', `${path}/1`, {}],
  ] as const
})

describe('a bug', () => {
  const secret = 'select hash from keys where id = 1'

  test('500 with the request id and nothing else, which the log explains', async () => {
    let fault: unknown
    const app = await startApp({ storage: failing(() => fault), expectsBugs: true })
    await app.send('GET', '/health')
    assert.equal((await app.send('GET', '/api/v1/domains')).status, 200)
    fault = new TypeError(secret)
    for (const [method, path, request] of operations) {
      const answer = await app.send(method, path, request)
      assertProblem(answer, 500, 'internal_error')
      assert.doesNotMatch(answer.text, /select|TypeError|\.ts|node:| at /)
      const logged = app.logs.filter(({ request_id }) => request_id === answer.body.request_id)
      const bug = logged.find(({ level }) => level === 50)
      const error = bug?.err as { message: string; stack: string } | undefined
      assert.equal(error?.message, secret)
      assert.match(error.stack, /TypeError/)
    }
    fault = undefined
    assert.equal((await app.send('GET', '/api/v1/domains')).status, 200)
  })

  test('500 for every thrown value', async () => {
    let fault: unknown
    const app = await startApp({ storage: failing(() => fault), expectsBugs: true })
    for (const thrown of [
      Object.assign(new Error(secret), { statusCode: 404 }),
      Object.assign(new Error(secret), { code: 'not_found', facts: {} }),
      Object.assign(new Error(secret), { validation: [{}], statusCode: 400 }),
      ...[secret, null, 404, { statusCode: 200, message: secret }],
    ]) {
      fault = undefined
      assert.equal((await app.send('GET', '/api/v1/spaces')).status, 200)
      fault = thrown
      const answer = await app.send('GET', '/api/v1/spaces')
      assertProblem(answer, 500, 'internal_error')
      assert.doesNotMatch(answer.text, /select/)
    }
    fault = undefined
  })
})

describe('a database that does not answer', () => {
  test('503 database_unavailable with Retry-After on every operation, and on /health', async () => {
    let fault: unknown
    const app = await startApp({ storage: failing(() => fault) })
    assert.equal((await app.send('GET', '/api/v1/domains')).status, 200)
    assert.deepEqual((await app.send('GET', '/health', { key: null })).body, { status: 'ok' })
    fault = databaseUnavailable(new Error('disk full: select'))
    for (const [method, path, request] of [...operations, ['GET', '/health', {}] as const]) {
      const answer = await app.send(method, path, request)
      assertProblem(answer, 503, 'database_unavailable')
      assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
      assert.doesNotMatch(answer.text, /select|disk/)
    }
    fault = undefined
    assert.equal((await app.send('GET', '/health')).status, 200)
  })

  test('503 rather than 401 for a key that cannot be looked up', async () => {
    let fault: unknown
    const app = await startApp({ storage: failing(() => fault) })
    fault = databaseUnavailable(new Error('locked'))
    assertProblem(await app.send('GET', '/api/v1/domains'), 503, 'database_unavailable')
    assertProblem(await app.send('GET', '/api/v1/domains', { key: 'wm_wrong' }), 401, 'invalid_api_key')
  })
})

test('503 overloaded while the event loop runs late, but for /health, and 200 soon after', async () => {
  const app = await startApp()
  const path = '/api/v1/domains'
  assert.equal((await app.send('GET', path)).status, 200)
  let isBlocking = true
  const blocked = blockWhile(() => isBlocking)
  try {
    let answer = await app.send('GET', path, { seesOverload: true })
    // One late tick is not enough for a mean.
    for (let turn = 0; turn < 3 && answer.status === 200; turn++) {
      answer = await app.send('GET', path, { seesOverload: true })
    }
    assertProblem(answer, 503, 'overloaded')
    assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
    assert.equal((await app.send('GET', '/health', { seesOverload: true })).status, 200)
  } finally {
    isBlocking = false
    await blocked
  }
  assert.equal((await app.send('GET', path)).status, 200)
})

/** Blocks the event loop most of the time. */
async function blockWhile(goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    await nextTurn()
  }
}

test('503 shutting_down for every request after the server began to stop', async () => {
  const app = await startApp()
  app.listener.isDraining = true
  for (const [method, path, request] of [...operations, ['GET', '/nowhere', {}], ['OPTIONS', '/health', {}]] as const) {
    const answer = await app.send(method, path, { ...request, key: null })
    assertProblem(answer, 503, 'shutting_down')
    assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
    assert.equal(answer.headers.connection, 'close')
  }
})

describe('the log', () => {
  const lineOf = async ({ logs }: TestApp, { headers }: Answer) => {
    const found = () => logs.filter(({ request_id }) => request_id === headers['x-request-id'])
    while (found().length === 0) await nextTurn()
    const lines = found()
    assert.equal(lines.length, 1)
    return lines[0] ?? {}
  }

  test('has one structured line for each request', async () => {
    const app = await startApp()
    const { key, secret } = await app.issueKey()
    const expected = [
      ['GET', '/api/v1/domains', 200, '/api/v1/domains', undefined],
      ['POST', '/api/v1/domains', 422, '/api/v1/domains', 'validation_failed'],
      ['GET', '/api/v1/domains/7', 404, '/api/v1/domains/:id', 'not_found'],
    ] as const
    for (const [method, path, status, route, code] of expected) {
      const { ms, time, ...line } = await lineOf(
        app,
        await app.send(method, path, { key: secret, headers: { 'x-request-id': `a${status}` } }),
      )
      assert.ok(Number(ms) >= 0 && Date.parse(String(time)) > 0)
      delete (line as { pid?: unknown }).pid
      delete (line as { hostname?: unknown }).hostname
      assert.deepEqual(line, {
        ...{ level: 30, request_id: `a${status}`, method, route, status, account: app.account, key: key.id },
        ...(code && { code }),
        msg: 'request',
      })
    }
  })

  test('has a line for each request that was rejected before its route was found', async () => {
    const app = await startApp()
    for (const [path, status] of [
      ['/nowhere', 404],
      ['/%zz', 400],
      ['/api/v1/domains', 401],
    ] as const) {
      const line = await lineOf(app, await app.send('GET', path, { key: null }))
      assert.equal(line.status, status)
      assert.equal(line.account, undefined)
    }
    const [garbage] = await app.raw('GARBAGE\r\n\r\n')
    assert.equal((await lineOf(app, garbage as Answer)).status, 400)
  })

  test('contains no key, query, body or header', async () => {
    const app = await startApp({ expectsBugs: true })
    const secret = 'Hush-Hush'
    for (const path of [
      `/api/v1/spaces?search=${secret}`,
      `/nowhere/${secret}?x=${secret}`,
      `/api/v1/spaces/${secret}`,
      `/%zz${secret}`,
    ]) {
      await app.send('GET', path, { headers: { 'user-agent': secret, cookie: secret, referer: secret } })
    }
    await app.send('POST', '/api/v1/spaces', { form: { name: secret, [secret]: secret } })
    await app.send('POST', '/api/v1/spaces', { form: { name: secret } })
    await app.send('GET', '/api/v1/spaces', { key: `wm_${secret}` })
    await app.raw(`GET /${secret} HTTP/9.9\r\nX: ${secret}\r\n\r\n`)
    const log = JSON.stringify(app.logs)
    assert.ok(app.logs.length >= 8)
    assert.ok(!log.includes(secret), log)
    assert.ok(!log.includes(app.key.slice(3, 20)))
  })
})
