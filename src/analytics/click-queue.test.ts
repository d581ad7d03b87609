import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import fc from 'fast-check'
import { eventually } from '../../test/processes.ts'
import { databaseUnavailable } from '../errors.ts'
import type { Visit } from './capture/visit.ts'
import { ClickQueue } from './click-queue.ts'

const away = databaseUnavailable(new Error('away'))
const ignore = () => undefined
const hourMs = 3_600_000

const meterOf = ({ meters }: ClickQueue, name: string) => {
  const value = meters.find((meter) => meter.name === name)?.value
  return typeof value === 'function' ? value() : Number.NaN
}

function visit(link: number, more: Partial<Visit> = {}): Visit {
  const sent = { host: 'go.acme.com', userAgent: 'Firefox', referrer: '', languages: 'de', country: '', rule: null }
  return { link, atMs: hourMs, class: 'person', isPrivate: false, ipAddress: '192.0.2.7', ...sent, count: 1, ...more }
}

type Outcome = 'stored' | 'refused' | 'unknown' | 'dies' | 'dies late'

/** Stores each batch once, as the thread does. The first writes have these outcomes; later ones succeed. */
function writing(outcomes: Outcome[] = []) {
  const kept: Visit[] = []
  const batches = new Set<number>()
  const write = async (batch: number, visits: readonly Visit[]): Promise<boolean> => {
    const outcome = outcomes.shift() ?? 'stored'
    if (outcome === 'dies') throw new TypeError('died')
    if (outcome === 'refused') throw away
    const isNew = !batches.has(batch)
    if (isNew) {
      assert.ok([...batches].every((earlier) => earlier < batch))
      kept.push(...visits)
      batches.add(batch)
    }
    if (outcome === 'unknown') throw away
    if (outcome === 'dies late') throw new TypeError('died after the commit')
    return isNew
  }
  const take = async (): Promise<boolean> => assert.fail()
  const clicksOf = (link: number) => kept.reduce((sum, each) => sum + (each.link === link ? each.count : 0), 0)
  return { kept, batches, write, take, clicksOf }
}

test('writes visits within a second, in the order of their links, and the rest before a stop', async () => {
  const writer = writing()
  const queue = new ClickQueue(writer, assert.ifError)
  queue.start()
  const visits = [visit(1), visit(2, { class: 'bot', isPrivate: true }), visit(1, { referrer: 'https://a.example/?q' })]
  for (const each of visits) queue.add(each)
  await eventually(() => writer.kept.length === 3)
  assert.deepEqual(writer.kept, [visits[0], visits[2], visits[1]])
  queue.add(visit(3))
  await queue.close()
  assert.equal(writer.clicksOf(3), 1)
  assert.deepEqual(
    ['people_total', 'bots_total', 'previews_total', 'unwritten', 'batches_total', 'reduced_total', 'lost_total'].map(
      (name) => meterOf(queue, name),
    ),
    [3, 1, 0, 0, 2, 0, 0],
  )
})

test('writes the visits of a slow write right after it, and others a quarter of a second later', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const pass = async (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
    await nextTick()
    await nextTick()
  }
  const slow = Promise.withResolvers<void>()
  const writer = writing()
  const write = async (batch: number, visits: readonly Visit[]) => {
    if (batch === 1) await slow.promise
    return writer.write(batch, visits)
  }
  const queue = new ClickQueue({ ...writer, write }, assert.ifError)
  queue.start()
  queue.add(visit(1))
  await pass(250)
  queue.add(visit(2))
  await pass(400)
  assert.equal(writer.kept.length, 0)
  slow.resolve()
  await pass(0)
  await pass(1)
  assert.deepEqual([writer.clicksOf(1), writer.clicksOf(2)], [1, 1])
  queue.add(visit(3))
  await pass(249)
  assert.equal(writer.clicksOf(3), 0)
  await pass(1)
  assert.equal(writer.clicksOf(3), 1)
})

test('sends visits with long headers in small batches', async () => {
  const writer = writing()
  const sizes: number[] = []
  const write = (batch: number, visits: readonly Visit[]) => {
    sizes.push(visits.reduce((sum, { referrer }) => sum + referrer.length, 0))
    return writer.write(batch, visits)
  }
  const queue = new ClickQueue({ ...writer, write }, assert.ifError)
  for (let n = 0; n < 2_000; n++) queue.add(visit(n, { referrer: `https://a.example/${n}`.padEnd(2_000, 'x') }))
  await queue.flush()
  assert.deepEqual(
    writer.kept.map(({ link }) => link),
    Array.from({ length: 2_000 }, (_, n) => n),
  )
  assert.ok(Math.max(...sizes) < 610_000)
  await queue.close()
})

test('sends batches of 3,000 visits in one flush, each in another tick of the event loop', async () => {
  const sizes: number[] = []
  let isOtherTick = true
  const write = async (_: number, visits: readonly Visit[]) => {
    assert.ok(isOtherTick)
    isOtherTick = false
    setImmediate(() => {
      isOtherTick = true
    })
    sizes.push(visits.length)
    return true
  }
  const queue = new ClickQueue({ ...writing(), write }, assert.ifError)
  for (let n = 0; n < 9_001; n++) queue.add(visit(1))
  await queue.flush()
  assert.deepEqual(sizes, [3_000, 3_000, 3_000, 1])
  await queue.close()
})

test('writes all pending visits to a link in one batch', async () => {
  const batches: number[][] = []
  const write = async (_: number, visits: readonly Visit[]) => {
    batches.push([...new Set(visits.map(({ link }) => link))])
    return true
  }
  const queue = new ClickQueue({ ...writing(), write }, assert.ifError)
  for (let n = 0; n < 12_000; n++) queue.add(visit(1 + (n % 8)))
  await queue.flush()
  assert.deepEqual(batches, [
    [1, 2],
    [3, 4],
    [5, 6],
    [7, 8],
  ])
  await queue.close()
})

test('changes at most 1,000 days with a batch, including merged visits', async () => {
  const writer = writing(['refused'])
  const sizes: number[] = []
  const write = (batch: number, visits: readonly Visit[]) => {
    sizes.push(visits.length)
    return writer.write(batch, visits)
  }
  const queue = new ClickQueue({ ...writer, write }, ignore, { maxVisits: 2_000, maxCounts: 2_000 })
  // The same link on two days, and 1,600 links; the oldest 400 visits are merged.
  for (let n = 0; n < 2_400; n++) queue.add(visit(Math.max(0, n - 800), { atMs: n < 390 ? hourMs : 25 * hourMs }))
  await queue.close()
  assert.equal(meterOf(queue, 'lost_total'), 0)
  assert.equal(writer.clicksOf(0), 801)
  assert.equal(
    writer.kept.reduce((sum, { count }) => sum + count, 0),
    2_400,
  )
  // The first link has two days, and there are 998 other links.
  assert.deepEqual(sizes, [1_401, 1_401, 601])
})

test('flushes all earlier visits, even during a round', async () => {
  const writer = writing()
  const queue = new ClickQueue(writer, assert.ifError)
  for (let n = 0; n < 3_000; n++) queue.add(visit(n))
  const first = queue.flush()
  queue.add(visit(3_000))
  await queue.flush()
  assert.equal(writer.kept.length, 3_001)
  await first
  await queue.close()
})

test('writes each click once, even if writes fail before or after the commit', async () => {
  const outcome = fc.constantFrom<Outcome>('stored', 'refused', 'unknown', 'dies', 'dies late')
  const visits = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 })
  const runs = fc.array(fc.tuple(visits, fc.array(outcome, { maxLength: 2 })), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(runs, async (rounds) => {
      const outcomes: Outcome[] = []
      const writer = writing(outcomes)
      const queue = new ClickQueue(writer, ignore)
      const expected: number[] = []
      for (const [links, next] of rounds) {
        outcomes.push(...next)
        for (const link of links) queue.add(visit(link))
        expected.push(...links)
        await queue.flush()
      }
      outcomes.splice(3)
      await queue.close()
      assert.deepEqual(writer.kept.map(({ link }) => link).sort(), expected.sort())
    }),
    { numRuns: 30 },
  )
})

test('reports an outage once, and writes the clicks of the outage later', async () => {
  const problems: unknown[] = []
  const writer = writing(['refused', 'refused', 'refused'])
  const queue = new ClickQueue(writer, (error) => problems.push(error))
  queue.add(visit(1))
  for (let n = 0; n < 3; n++) await queue.flush()
  assert.deepEqual(problems, [away])
  queue.add(visit(2))
  await queue.close()
  assert.deepEqual(
    writer.kept.map(({ link }) => link),
    [1, 2],
  )
})

test('isolates and reports the visit that a batch always fails of, and writes the others in order', async () => {
  const writer = writing()
  const write = async (batch: number, visits: readonly Visit[]) => {
    if (visits.some(({ link }) => link === 13)) throw new TypeError('a bug')
    return writer.write(batch, visits)
  }
  const problems: unknown[][] = []
  const queue = new ClickQueue({ ...writer, write }, (error, ...more) => problems.push([String(error), ...more]))
  for (let link = 0; link < 20; link++) queue.add(visit(link))
  for (let n = 0; n < 8; n++) await queue.flush()
  queue.add(visit(20))
  await queue.close()
  assert.equal(meterOf(queue, 'lost_total'), 1)
  assert.deepEqual(
    writer.kept.map(({ link }) => link),
    Array.from({ length: 21 }, (_, n) => n).filter((n) => n !== 13),
  )
  assert.deepEqual(problems.at(-1), ['TypeError: a bug', "clicks were lost, because they can't be written: 1", 'error'])
})

test('ends a flush under steady traffic', async () => {
  const writer = writing()
  const queue: ClickQueue = new ClickQueue(
    {
      ...writer,
      write: async (batch, visits) => {
        queue.add(visit(99))
        return writer.write(batch, visits)
      },
    },
    assert.ifError,
  )
  queue.add(visit(1))
  await queue.flush()
  assert.equal(writer.clicksOf(1), 1)
  assert.equal(writer.clicksOf(99), 0)
  assert.equal(meterOf(queue, 'unwritten'), 1)
})

test('merges the oldest visits to counts without visitor data, and then drops clicks', async () => {
  const writer = writing(['refused'])
  const queue = new ClickQueue(writer, ignore, { maxVisits: 10, maxCounts: 2 })
  const links = [1, 1, 2, 3, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
  for (const [at, link] of links.entries()) queue.add(visit(link, { atMs: hourMs + at }))
  assert.deepEqual([meterOf(queue, 'reduced_total'), meterOf(queue, 'lost_total')], [4, 1])
  await queue.close()
  assert.equal(writer.clicksOf(1), 3)
  assert.equal(writer.clicksOf(3), 0)
  const reduced = writer.kept.filter(({ isPrivate }) => isPrivate)
  assert.deepEqual(
    reduced.map(({ link, count, ipAddress, host, userAgent, languages }) => [
      link,
      count,
      ipAddress + host + userAgent + languages,
    ]),
    [
      [1, 3, ''],
      [2, 1, ''],
    ],
  )
  assert.equal(writer.kept.length, 12)
})

test('merges 1,000 visits of a full queue at a time', async () => {
  const writer = writing()
  const queue = new ClickQueue(writer, assert.ifError)
  const reduced = () => meterOf(queue, 'reduced_total')
  for (let n = 0; n < 100_000; n++) queue.add(visit(1))
  assert.equal(reduced(), 0)
  for (let n = 0; n < 1_001; n++) queue.add(visit(1))
  assert.equal(reduced(), 2_000)
  await queue.close()
  assert.equal(writer.clicksOf(1), 101_001)
})

test('ends a flush if visits are merged meanwhile, without writing empty batches', async () => {
  const sizes: number[] = []
  const write = async (_: number, visits: readonly Visit[]) => {
    // This visit makes the queue merge ten visits of one link.
    if (sizes.length === 0) queue.add(visit(0))
    if (sizes.push(visits.length) > 27) throw away
    return true
  }
  const queue = new ClickQueue({ ...writing(), write }, assert.ifError, { maxVisits: 1_000 })
  // 24,000 counts are taken from the queue together.
  for (let n = 1; n <= 26_000; n++) queue.add(visit(Math.max(0, 25_000 - n)))
  await queue.flush()
  assert.deepEqual([sizes, meterOf(queue, 'unwritten')], [[...Array(24).fill(1_000), 1_991], 0])
})

test('stops without a database and reports unwritten clicks', async () => {
  const writer = writing(Array.from({ length: 10 }, () => 'refused' as const))
  const problems: unknown[][] = []
  const queue = new ClickQueue(writer, (_, ...more) => problems.push(more))
  queue.add(visit(1))
  await queue.close()
  assert.equal(writer.kept.length, 0)
  assert.equal(meterOf(queue, 'unwritten'), 1)
  assert.deepEqual(problems.at(-1), ['clicks were not written before the stop: 1', 'error'])
})

test('stops 6 seconds after a batch that a hanging database does not write', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const write = () => new Promise<boolean>(() => undefined)
  const messages: string[] = []
  const queue = new ClickQueue({ ...writing(), write }, (_, message) => messages.push(message))
  queue.add(visit(1))
  let isClosed = false
  const closed = queue.close().then(() => {
    isClosed = true
  })
  t.mock.timers.tick(5_999)
  for (let n = 0; n < 10; n++) await new Promise(setImmediate)
  assert.equal(isClosed, false)
  t.mock.timers.tick(1)
  await closed
  assert.deepEqual(messages, ['clicks were not written before the stop: 1'])
})

test('repeats a write that fails during a stop', async () => {
  const writer = writing()
  const failing = Promise.withResolvers<never>()
  let attempts = 0
  const write = (batch: number, visits: readonly Visit[]) => {
    attempts += 1
    return attempts === 1 ? failing.promise : writer.write(batch, visits)
  }
  const queue = new ClickQueue({ ...writer, write }, ignore)
  queue.add(visit(1))
  void queue.flush()
  await eventually(() => attempts === 1)
  assert.equal(meterOf(queue, 'unwritten'), 1)
  const closed = queue.close()
  failing.reject(away)
  await closed
  assert.equal(writer.clicksOf(1), 1)
})

test('counts only taken clicks', async () => {
  const outcomes = [true, false]
  const queue = new ClickQueue({ ...writing(), take: async () => outcomes.shift() ?? false }, assert.ifError)
  assert.equal(await queue.take(visit(1)), true)
  assert.equal(await queue.take(visit(1)), false)
  assert.equal(meterOf(queue, 'people_total'), 1)
  await queue.close()
})
