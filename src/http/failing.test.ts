/** What a handler gets wrong, in ways that no real one is meant to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { addHeader, send } from './answer.ts'
import type { Handler } from './exchange.ts'
import { fail } from './failing.ts'

const faulty: Readonly<Record<string, Handler>> = {
  'throws behind its answer': (exchange) => {
    send(exchange, 204)
    throw new Error('too late')
  },
  'rejects behind its answer': async (exchange) => {
    send(exchange, 204)
    throw new Error('too late')
  },
  'fails behind its answer': (exchange) => {
    send(exchange, 204)
    fail(exchange, new Error('too late'))
    return undefined
  },
}

for (const [what, handler] of Object.entries(faulty)) {
  test(`204 and one line in the log for the bug when a handler ${what}`, async () => {
    const app = await startApp({ expectsBugs: true })
    app.router.add('GET', '/faulty', handler)
    const { status } = await app.send('GET', '/faulty')
    assert.equal(status, 204)
    assert.equal((await app.send('GET', '/health')).status, 200)
    assert.deepEqual(bugsOf(app.logs), ['too late'])
    assert.equal(app.logs.filter(({ msg, route }) => msg === 'request' && route === '/faulty').length, 1)
  })
}

test('204 when a handler answers although it has failed', async () => {
  const app = await startApp({ expectsBugs: true })
  app.router.add('GET', '/faulty', (exchange) => {
    fail(exchange, new Error('first'))
    return send(exchange, 204)
  })
  assert.equal((await app.send('GET', '/faulty')).status, 204)
  assert.equal((await app.send('GET', '/health')).status, 200)
  assert.deepEqual(bugsOf(app.logs), ['first'])
})

test('a closed connection, and a line in the log, for an answer with a header that cannot be written', async () => {
  const app = await startApp({ expectsBugs: true })
  app.router.add('GET', '/faulty', (exchange) => {
    addHeader(exchange, 'x-broken', 'one\ntwo')
    return send(exchange, 204)
  })
  assert.deepEqual(await app.raw('GET /faulty HTTP/1.1\r\nHost: x\r\n\r\n'), [])
  assert.equal((await app.send('GET', '/health')).status, 200)
  assert.equal(bugsOf(app.logs).length, 2)
  assert.equal(app.logs.find(({ route }) => route === '/faulty')?.aborted, true)
  assert.equal(app.measured.counts.underWay, 0)
})

test('500 once when a handler fails twice', async () => {
  const app = await startApp({ expectsBugs: true })
  app.router.add('GET', '/faulty', (exchange) => {
    fail(exchange, new Error('first'))
    throw new Error('second')
  })
  const { status, body } = await app.send('GET', '/faulty')
  assert.deepEqual([status, body.code], [500, 'internal_error'])
  assert.equal((await app.send('GET', '/health')).status, 200)
  assert.deepEqual(bugsOf(app.logs), ['first', 'second'])
  assert.equal(app.measured.counts.underWay, 0)
})

test('500 for whatever a handler throws that is no error', async () => {
  const app = await startApp({ expectsBugs: true })
  app.router.add('GET', '/faulty', () => {
    throw undefined
  })
  const { status, body } = await app.send('GET', '/faulty')
  assert.deepEqual([status, body.code], [500, 'internal_error'])
})

function bugsOf(logs: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return logs.filter(({ msg }) => msg === 'internal error').map(({ err }) => (err as Error).message)
}
