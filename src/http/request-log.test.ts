import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { traceOf } from './request-log.ts'

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
    assert.deepEqual(traceOf(header), { traceId, spanId }, header)
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
    assert.equal(traceOf(header), null, String(header))
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
