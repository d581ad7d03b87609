import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WorkerRequest } from '../../test/lib-worker.ts'
import { Failure } from '../errors.ts'
import { WorkerClient } from './worker-client.ts'

interface Notice {
  readonly from: string
}

const unavailable = { code: 'database_unavailable' }

function openClient(notices: string[] = [], closeMs = 10_000) {
  return new WorkerClient<WorkerRequest, string, Notice>({
    module: new URL('../../test/lib-worker.ts', import.meta.url),
    workerData: 'some data',
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    closeMs,
    onNotice: ({ from }) => notices.push(from),
  })
}

test('starts the worker with the first request and matches responses to requests', async () => {
  const notices: string[] = []
  const client = openClient(notices)
  assert.equal(client.isRunning, false)
  const held = client.request({ echo: 'hold' })
  assert.deepEqual([client.isRunning, client.pending], [true, 1])
  assert.equal(await client.request({ echo: 'notify' }), 'notify')
  assert.deepEqual(notices, ['some data'])
  assert.equal(await client.request({ echo: 'finish' }), 'finish')
  assert.equal(await held, 'hold')
  assert.equal(client.pending, 0)
  await client.close()
})

test('rejects with the error of the worker, which keeps running', async () => {
  const client = openClient()
  await assert.rejects(client.request({ fail: 'no' }), ({ errors, message }: AggregateError) => {
    assert.equal(message, 'several')
    assert.ok(errors[0] instanceof Failure)
    assert.deepEqual([errors[0].code, errors[0].message, errors[1]], ['overloaded', 'no', new TypeError('no')])
    return true
  })
  assert.equal(await client.request({ echo: 'again' }), 'again')
  await client.close()
})

test('rejects pending requests when the worker dies, and does not restart it too soon', async (t) => {
  const client = openClient()
  const [held, crash] = [client.request({ echo: 'hold' }), client.request({ crash: true })]
  for (const request of [held, crash]) await assert.rejects(request, unavailable)
  assert.equal(client.isRunning, false)
  const now = performance.now()
  const clock = t.mock.method(performance, 'now', () => now)
  await assert.rejects(client.request({ echo: 'too soon' }), unavailable)
  assert.throws(() => client.start(), unavailable)
  clock.mock.mockImplementation(() => now + 1_000)
  assert.equal(await client.request({ echo: 'again' }), 'again')
  await client.close()
})

test('close lets the worker finish its requests, and later requests are rejected', async () => {
  const notices: string[] = []
  const client = openClient(notices)
  const held = client.request({ echo: 'hold' })
  const finished = client.request({ echo: 'finish' })
  await Promise.all([client.close(), client.close()])
  assert.deepEqual([await held, await finished], ['hold', 'finish'])
  assert.deepEqual(notices, ['close'])
  await assert.rejects(client.request({ echo: 'late' }), unavailable)
})

test('close terminates a worker that does not finish', async () => {
  const client = openClient([], 1)
  const held = assert.rejects(client.request({ echo: 'hold' }), unavailable)
  await client.close()
  await held
})
