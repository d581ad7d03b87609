import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type StartOptions, startApp } from '../../test/app.ts'
import { type Answer, sendRequest } from '../../test/client.ts'
import { stopClock } from '../../test/clock.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { eventually } from '../../test/processes.ts'
import type { Storage } from '../storage/port.ts'

/** Starts an app, and returns functions that send requests to its ops listener and read a value of its metrics. */
async function startOps(options: StartOptions = {}) {
  const app = await startApp(options)
  const ask = (path: string, method = 'GET', headers = {}) =>
    sendRequest({ agent: undefined, port: app.opsPort, method, path }, { key: null, headers })
  const value = async (series: string) => {
    const line = (await ask('/metrics')).text.split('\n').find((text) => text.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }
  return { app, ask, value }
}

const requests = (route: string, method: string, status: string | number) =>
  `waymark_http_request_duration_seconds_count{route="${route}",method="${method}",status="${status}"}`
const failures = (code: string) => `waymark_http_failures_total{code="${code}"}`

test('GET /health/ready returns 503 database_unavailable after two seconds without a database', async () => {
  const condition = () => new Promise<never>(() => undefined)
  const { ask } = await startOps({ storage: (real) => withMethods(real, { condition }) })
  const { status, body } = await ask('/health/ready')
  assert.deepEqual([status, body.code], [503, 'database_unavailable'])
})

test('returns 404 for other paths, 405 with Allow for other methods, and no body for HEAD', async () => {
  const { app, ask } = await startOps()
  for (const path of ['/', '/health', '/metrics/', '/toString', '//metrics']) {
    const { status, body, headers } = await ask(path)
    assert.deepEqual([status, body.code, body.status], [404, 'route_not_found', 404])
    assert.equal(headers['x-request-id'], body.request_id)
    const { level, request_id, code } = app.logs.at(-1) ?? {}
    assert.deepEqual([level, request_id, code], [30, body.request_id, 'route_not_found'])
  }
  for (const method of ['POST', 'DELETE', 'OPTIONS']) {
    const { status, body, headers } = await ask('/metrics', method)
    assert.deepEqual([status, body.code, headers.allow], [405, 'method_not_allowed', 'GET, HEAD'])
  }
  const head = await ask('/health/live', 'HEAD')
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '17'])
})

test('returns 400 for a broken path and for an unknown Host', async () => {
  const { ask } = await startOps()
  assert.equal((await ask('/%zz')).body.code, 'malformed_url')
  for (const host of ['evil.example', 'evil.example:3090', '127.0.0.1.evil.example']) {
    assert.equal((await ask('/metrics', 'GET', { host })).body.code, 'malformed_request', host)
  }
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '[::1]:3090', '192.0.2.7']) {
    assert.equal((await ask('/health/live', 'GET', { host })).status, 200, host)
  }
})

test('returns 500 without details, and logs them', async () => {
  const bug = new TypeError('a bug')
  const broken = { name: 'broken', help: '', value: () => assert.fail(bug) }
  const storage = (real: Storage) => withMethods(real, { meters: [broken] })
  const { app, ask } = await startOps({ storage, expectsBugs: true })
  const { status, body, text } = await ask('/metrics')
  assert.deepEqual([status, body.code], [500, 'internal_error'])
  assert.doesNotMatch(text, /a bug/)
  assert.deepEqual(
    app.logs.map(({ level, request_id, err, code }) => [
      level,
      request_id,
      (err as Error | undefined)?.message ?? code,
    ]),
    [
      [50, body.request_id, 'a bug'],
      [30, body.request_id, 'internal_error'],
    ],
  )
})

test('counts requests by route, method and status', async () => {
  const { app, value } = await startOps()
  const { body } = await app.send('POST', '/api/v1/spaces', { form: { name: 'Counted' } })
  for (const id of [body.data.id, body.data.id, 77, 78, 79]) await app.send('GET', `/api/v1/spaces/${id}`)
  await app.send('HEAD', `/api/v1/spaces/${body.data.id}`)
  assert.equal(await value(requests('/api/v1/spaces', 'POST', 201)), 1)
  assert.equal(await value(requests('/api/v1/spaces/:id', 'GET', 200)), 2)
  assert.equal(await value(requests('/api/v1/spaces/:id', 'GET', 404)), 3)
  assert.equal(await value(requests('/api/v1/spaces/:id', 'HEAD', 200)), 1)
  assert.equal(await value(failures('not_found')), 3)
  assert.equal(await value('waymark_http_requests_under_way'), 0)
})

test('counts all unknown paths as one route and all unknown methods as one method', async () => {
  const { app, ask, value } = await startOps()
  for (let n = 0; n < 20; n++) await app.send('GET', `/nowhere/${n}?x=${n}`)
  for (const method of ['PROPFIND', 'MKCOL', 'TRACE']) await app.send(method, '/nowhere')
  await app.raw('nonsense\r\n\r\n')
  await app.send('GET', '/%zz')
  assert.equal(await value(requests('none', 'GET', 404)), 20)
  assert.equal(await value(requests('none', 'GET', 400)), 1)
  const { text } = await ask('/metrics')
  // A busy machine sheds load.
  assert.equal(text.match(/^waymark_http_request_duration_seconds_count\{(?!.*"503")/gm)?.length, 3)
  assert.match(text, /route="none",method="other"/)
  assert.equal(await value(failures('malformed_request')), 1)
  assert.equal(await value(failures('malformed_url')), 1)
})

test('counts rate-limited and aborted requests', async (t) => {
  stopClock(t)
  const { app, value } = await startOps({ rateLimit: 2 })
  for (let n = 0; n < 5; n++) await app.send('GET', '/api/v1/domains')
  assert.equal(await value(failures('rate_limited')), 3)
  assert.equal(await value(requests('/api/v1/domains', 'GET', 429)), 3)

  const socket = connect(app.port, '127.0.0.1')
  socket.write(`POST /api/v1/spaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await app.createKey()}\r\n`)
  socket.write('Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{')
  await eventually(async () => (await value('waymark_http_requests_under_way')) === 1)
  socket.destroy()
  await eventually(async () => (await value(requests('/api/v1/spaces', 'POST', 'aborted'))) === 1)
  assert.equal(await value('waymark_http_requests_under_way'), 0)
})

test('prints histograms with cumulative buckets up to +Inf, a sum and a count', async () => {
  const { app, ask } = await startOps({ engine: 'sqlite' })
  await app.send('POST', '/api/v1/spaces', { form: { name: 'Committed' } })
  const { text, headers } = await ask('/metrics')
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  const lines = text.split('\n').filter((line) => line.startsWith('waymark_database_commit_seconds'))
  const counts = lines.map((line) => Number(line.split(' ')[1]))
  const [sum = 0, count = 0] = counts.slice(-2)
  const buckets = counts.slice(0, -2)
  assert.match(lines[buckets.length - 1] ?? '', /_bucket\{le="\+Inf"\}/)
  assert.deepEqual(
    buckets,
    buckets.toSorted((a, b) => a - b),
  )
  assert.ok(sum > 0 && count > 0 && buckets.at(-1) === count)
})

test('measures the process, its event loop, its database and its version', async () => {
  const { app, ask } = await startOps({ engine: 'sqlite' })
  await app.send('GET', '/api/v1/spaces?search=nothing')
  await eventually(() => app.measured.loopDelays.sum > 0)
  await measures(ask, [
    /^waymark_build_info\{version="[\d.]+(-dev(\+[0-9a-f]{10})?)?",node="v26/m,
    /^waymark_visits_total\{answer="redirect"\} 0$/m,
    /^waymark_event_loop_delay_seconds_count [1-9]/m,
    /^waymark_database_read_seconds_count [1-9]/m,
    /^waymark_database_read_group_size_sum [1-9]/m,
    /^waymark_database_commit_group_size_sum [1-9]/m,
    /^waymark_database_thread_seconds_count 2$/m,
    /^waymark_database_waiting_transactions 0$/m,
    /^waymark_links_waiting_stores 0$/m,
    /^process_resident_memory_bytes [1-9]/m,
    /^process_cpu_seconds_total /m,
    /^nodejs_active_handles\{type="\w+"\} [1-9]/m,
    /^# TYPE nodejs_gc_duration_seconds histogram$/m,
  ])
})

/** Waits for each of these metrics, because maintenance of a new server may be using the database. */
async function measures(ask: (path: string) => Promise<Answer>, metrics: readonly RegExp[]): Promise<void> {
  for (const metric of metrics) {
    let text = ''
    const isShown = async () => {
      text = (await ask('/metrics')).text
      return metric.test(text)
    }
    await eventually(isShown).catch(() => assert.match(text, metric))
  }
}

test('measures the connections to PostgreSQL', async () => {
  const { app, ask } = await startOps({ engine: 'postgres' })
  await app.send('GET', '/api/v1/spaces')
  await measures(ask, [
    /^waymark_database_use_seconds_count [1-9]/m,
    /^waymark_database_connections [1-9]/m,
    /^waymark_database_idle_connections [1-9]/m,
    /^waymark_database_waiting_uses 0$/m,
  ])
})
