import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'

test('a request is one line: what was asked, what was answered, how long it took, and for whom', async () => {
  const app = await startApp()
  await app.send('GET', '/api/v1/spaces/7?search=secret', { headers: { 'x-request-id': 'mine' } })
  const lines = app.logs.filter(({ request_id }) => request_id === 'mine')
  const { time, ms, hostname, ...line } = lines[0] ?? {}
  assert.deepEqual(
    [lines.length, line],
    [
      1,
      {
        level: 30,
        pid: process.pid,
        request_id: 'mine',
        method: 'GET',
        route: '/api/v1/spaces/:id',
        status: 404,
        code: 'not_found',
        account: 1,
        key: 1,
        msg: 'request',
      },
    ],
  )
  assert.match(String(ms), /^\d+(\.\d{1,3})?$/)
})
