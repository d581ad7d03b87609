import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { numberOfRank, zipf } from '../bench/link-records.ts'
import { UnexpectedAnswers } from '../bench/load.ts'
import { drivePaced } from '../bench/paced-load.ts'

test('visits links by Zipf’s law, and gives every link one rank', () => {
  const count = 1_000
  const numbers = new Set(Array.from({ length: count }, (_, rank) => numberOfRank(rank, count)))
  assert.deepEqual([numbers.size, Math.min(...numbers), Math.max(...numbers)], [count, 1, count])
  const drawn = new Map<number, number>()
  const next = zipf(count)
  for (let draw = 0; draw < 200_000; draw++) {
    const number = next()
    drawn.set(number, (drawn.get(number) ?? 0) + 1)
  }
  const first = drawn.get(numberOfRank(0, count)) ?? 0
  for (const rank of [2, 3, 10]) {
    const ratio = first / (drawn.get(numberOfRank(rank - 1, count)) ?? 0)
    assert.ok(Math.abs(ratio / rank - 1) < 0.2, `rank ${rank}: ${ratio}`)
  }
})

const call = { method: 'GET', path: '/', host: 'go.example', head: '', form: '' }

test('measures latencies at a fixed pace from the time when requests are due', async (t) => {
  const pauseMs = 300
  let answered = 0
  const server = createServer((_request, response) => {
    answered += 1
    // Blocks the event loop once.
    if (answered === 100) for (const end = performance.now() + pauseMs; performance.now() < end; );
    response.end('here')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const load = { ports: [port], seconds: 1, status: 200, next: () => call, perSecond: 400 }
  const { sent, answered: heard, latencies } = await drivePaced(load)
  assert.deepEqual([sent, heard], [400, 400])
  // All requests due during the pause are late, although only one per connection was sent.
  assert.ok(latencies.filter((ms) => ms > pauseMs / 2).length >= 50)
  await assert.rejects(drivePaced({ ...load, seconds: 0.1, status: 302 }), UnexpectedAnswers)
})
