import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { startApp } from '../../test/app.ts'
import { type DatabaseTrouble, databaseUnavailable } from '../errors.ts'
import { parseTrace, RequestCounts, RequestLog } from './request-log.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const rest = `${traceId}-${spanId}-01`

test('reads the trace in a valid traceparent, even of a later version', () => {
  for (const header of [
    `00-${rest}`,
    `00-${traceId}-${spanId}-ff`,
    `01-${rest}`,
    `fe-${rest}-what-is-yet-to-come`,
    `cc-${rest}-`,
  ]) {
    assert.deepEqual({ ...parseTrace(header) }, { trace_id: traceId, span_id: spanId }, header)
  }
})

test('ignores any other traceparent', () => {
  for (const header of [
    undefined,
    [`00-${rest}`, `00-${rest}`],
    '',
    `00-${rest}, 00-${rest}`,
    `00-${rest}-more`,
    `ff-${rest}`,
    `01-${rest}.more`,
    `00-${rest.toUpperCase()}`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    `00-${traceId}-${spanId.slice(1)}-01`,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-0x`,
    '"},"msg":"forged',
  ]) {
    assert.equal(parseTrace(header), undefined, String(header))
  }
})

test('logs the trace of a valid header, and nothing else from it', async () => {
  const app = await startApp()
  const lineOf = async (id: string, traceparent: string) => {
    await app.send('GET', '/api/v1/spaces', { headers: { 'x-request-id': id, traceparent } })
    return app.logs.findLast(({ request_id }) => request_id === id)
  }
  const traced = await lineOf('traced', `00-${rest}`)
  assert.deepEqual([traced?.trace_id, traced?.span_id], [traceId, spanId])
  const forged = await lineOf('forged', `00-${rest},"level":60`)
  assert.equal(forged?.level, 30)
  assert.ok(!('trace_id' in (forged ?? {})))
  assert.equal(JSON.stringify(app.logs).includes(app.key), false)
})

const minute = 60_000

/** Returns functions that add a failure, and return the lines logged since the last call. */
function failureLog() {
  const lines: Record<string, unknown>[] = []
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const log = new RequestLog(logger, new RequestCounts())
  let count = 0
  const add = (cause: unknown, reason?: DatabaseTrouble) =>
    log.failed(`request-${++count}`, databaseUnavailable(cause, reason))
  const logged = () =>
    lines
      .splice(0)
      .map(({ request_id, reason, repeats, err }) => [
        request_id ?? repeats,
        reason ?? null,
        (err as Error | undefined)?.message ?? null,
      ])
  return { add, logged }
}

test('logs the first failure of a kind with its cause, and counts the others in one line per minute', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { add, logged } = failureLog()
  for (let n = 0; n < 1_000; n++) add(new Error('the disk is full'), 'disk_full')
  add(new Error('locked'))
  assert.deepEqual(logged(), [
    ['request-1', 'disk_full', 'the disk is full'],
    ['request-1001', null, 'locked'],
  ])
  t.mock.timers.tick(minute)
  assert.deepEqual(logged(), [[999, 'disk_full', null]])
  t.mock.timers.tick(minute)
  assert.deepEqual(logged(), [])
})

test('logs the cause again in the next minute', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { add, logged } = failureLog()
  for (let n = 0; n < 3; n++) {
    add('a text')
    add('a text')
    assert.equal(logged().length, 1)
    t.mock.timers.tick(minute)
    assert.deepEqual(logged(), [[1, null, null]])
  }
})

test('counts causes together when there are too many', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { add, logged } = failureLog()
  for (let n = 0; n < 500; n++) add(new Error(`connection ${n}`))
  assert.equal(logged().length, 101)
  t.mock.timers.tick(minute)
  assert.deepEqual(logged(), [[399, null, null]])
})
