import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { chosenCases } from '../bench/cases.ts'
import { figuresOf } from '../bench/figures.ts'
import { aliasOf, domainOf, domainsFor, numberOfRank, targetOf, zipf } from '../bench/link-records.ts'
import { UnexpectedAnswers } from '../bench/load.ts'
import type { Reading, Result } from '../bench/measure.ts'
import { readOptions } from '../bench/options.ts'
import { drivePaced } from '../bench/paced-load.ts'
import { asText } from '../bench/report.ts'
import { parseAlias } from '../src/links/link.ts'

/** Prints a run with these results and with slow, big processes. */
function printed(args: readonly string[], results: readonly Result[] = []): string {
  const options = readOptions(args)
  assert.ok(options !== null)
  const [kind, records, startMs] = ['domains', 1_000, [9_000]] as const
  return asText(figuresOf(results, [{ kind, records, rssMb: 9_000, peakRssMb: 9_000, startMs }], options))
}

const reading: Reading = { rate: 1_000, cpu: 50, loopCpu: 50, busy: 1, p50: 1, p99: 2, longestTick: 1 }

/** Returns a result with one round. */
function resultOf(name: string, records: number, waymark: Partial<Reading>): Result {
  const [found] = chosenCases([name], false)?.filter((each) => each.name === name) ?? []
  assert.ok(found)
  return { case: found, records, rounds: [{ waymark: { ...reading, ...waymark }, raw: reading }] }
}

test('--gate judges speed, the cost of counting, latency, growth and event-loop ticks', () => {
  const text = printed(
    ['--gate', '--records', '1000,1000000'],
    [
      resultOf('visit-memory', 1_000, { rate: 470, cpu: 60 }),
      resultOf('visit-memory', 1_000_000, { rate: 490, cpu: 70 }),
      resultOf('visit-uncounted', 1_000, { rate: 500 }),
      resultOf('visit-uncounted', 1_000_000, { rate: 1_000, longestTick: 21 }),
      resultOf('visit-paced', 1_000, { p99: 4.5 }),
      resultOf('visit-paced', 1_000_000, { p99: 5.5 }),
    ],
  )
  assert.match(text, /link in memory, 1000 records: requests\/s of raw ≥ 0\.48 +\| +0\.470 \| FAIL/)
  assert.match(text, /link in memory, 1000000 records: requests\/s of raw ≥ 0\.48 +\| +0\.490 \| pass/)
  assert.match(text, /no click, 1000 records: requests\/s ≥ 0\.6 +\| +0\.940 \| pass/)
  assert.match(text, /no click, 1000000 records: requests\/s ≥ 0\.6 +\| +0\.490 \| FAIL/)
  assert.match(text, /half pace, 1000000 records: p99 ms ≤ 5 +\| +5\.50 \| FAIL/)
  assert.match(text, /link in memory: growth in CPU per request ≤ 1\.1 +\| +1\.17 \| FAIL/)
  assert.match(text, /no click, 1000000 records: event-loop tick ms ≤ 20 +\| +21\.0 \| FAIL/)
})

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

test('generates links with valid, unique aliases', () => {
  const [links, seen] = [5_000, new Set<string>()]
  for (let link = 1; link <= links; link++) {
    const alias = aliasOf(link)
    assert.equal(parseAlias(alias), alias)
    seen.add(alias.toLowerCase())
    assert.match(targetOf(link), /^https:\/\/.{38,113}$/)
    assert.ok(domainOf(link, domainsFor(links)) <= links / 10)
  }
  assert.equal(seen.size, links)
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
