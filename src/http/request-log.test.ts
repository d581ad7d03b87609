import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { startApp } from '../../test/app.ts'

test('the line of a request is the one that the logger itself would write', async () => {
  const app = await startApp()
  await app.send('GET', '/api/v1/spaces/7', { headers: { 'x-request-id': 'mine' } })
  const line = app.logs.findLast(({ request_id }) => request_id === 'mine')
  const { time, ms, pid, hostname } = line ?? {}

  const written: string[] = []
  const logger = pino({ timestamp: () => `,"time":${JSON.stringify(time)}` }, { write: (text) => written.push(text) })
  const route = '/api/v1/spaces/:id'
  logger.info(
    { request_id: 'mine', method: 'GET', route, status: 404, ms, code: 'not_found', account: 1, key: 1 },
    'request',
  )

  assert.deepEqual(line, { ...JSON.parse(written[0] ?? ''), pid, hostname })
  assert.equal(pid, process.pid)
})
