import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  const sent = { host: 'go.acme.com', userAgent: 'Firefox', referrer: '', languages: 'de', country: '' }
  return { link, atMs: hourMs, class: 'person', isPrivate: false, address: '192.0.2.7', ...sent, count: 1, ...more }
}

type Outcome = 'kept' | 'refused' | 'unknown' | 'broken'

/** Keeps visits as the thread does, each batch once; a write goes as `outcomes` says, and then well. */
function writing(outcomes: Outcome[] = []) {
  const kept: Visit[] = []
  const batches = new Set<number>()
  let left = 0
  const write = async (batch: number, visits: readonly Visit[]) => {
    const outcome = outcomes.shift() ?? 'kept'
    if (outcome === 'broken') throw new TypeError('a bug')
    if (outcome === 'refused') throw away
    if (!batches.has(batch)) kept.push(...visits)
    batches.add(batch)
    if (outcome === 'unknown') throw away
  }
  const take = async (taken: Visit) => {
    if (left === 0) return false
    left -= 1
    kept.push(taken)
    return true
  }
  return {
    ...{ kept, batches, write, take },
    leave: (clicks: number) => {
      left = clicks
    },
    clicksOf: (link: number) => kept.reduce((sum, each) => sum + (each.link === link ? each.count : 0), 0),
  }
}

test('visits are written as they were counted, within a second, and a stop loses none', async () => {
  const writer = writing()
  const queue = new ClickQueue(writer, assert.ifError)
  queue.start()
  const visits = [visit(1), visit(2, { class: 'bot', isPrivate: true }), visit(1, { referrer: 'https://a.example/?q' })]
  for (const each of visits) queue.add(each)
  await eventually(() => writer.kept.length === 3)
  assert.deepEqual(writer.kept, visits)
  queue.add(visit(3))
  await queue.close()
  assert.equal(writer.clicksOf(3), 1)
  assert.deepEqual(
    ['people', 'bots', 'previews', 'unwritten', 'batches', 'reduced', 'lost'].map((name) => meterOf(queue, name)),
    [3, 1, 0, 0, 2, 0, 0],
  )
})

test('visits with long headers are sent in small batches: packing one holds up the event loop', async () => {
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
  assert.ok(Math.max(...sizes) < 2_010_000)
  await queue.close()
})

test('a batch changes at most 1,000 days, merged visits included', async () => {
  const writer = writing(['refused'])
  const sizes: number[] = []
  const write = (batch: number, visits: readonly Visit[]) => {
    sizes.push(visits.length)
    return writer.write(batch, visits)
  }
  const queue = new ClickQueue({ ...writer, write }, ignore, { maxVisits: 2_000, maxCounts: 2_000 })
  // The same link on two days, and 1,600 links; the oldest 400 visits are merged.
  for (let n = 0; n < 2_400; n++) queue.add(visit(Math.max(0, n - 800), { atMs: n % 2 === 0 ? hourMs : 25 * hourMs }))
  await queue.close()
  assert.equal(meterOf(queue, 'lost'), 0)
  assert.equal(writer.clicksOf(0), 801)
  assert.equal(
    writer.kept.reduce((sum, { count }) => sum + count, 0),
    2_400,
  )
  // The two days of the first link, and 998 other links.
  assert.deepEqual(sizes, [1_401, 1_401, 601])
})

test('a flush writes all that was counted before, also while a round is under way', async () => {
  const writer = writing()
  const queue = new ClickQueue(writer, assert.ifError)
  for (let n = 0; n < 8_000; n++) queue.add(visit(n))
  const first = queue.flush()
  queue.add(visit(8_000))
  await queue.flush()
  assert.equal(writer.kept.length, 8_001)
  await first
  await queue.close()
})

test('every click is written once, whichever writes fail, and whether or not they were kept', async () => {
  const outcome = fc.constantFrom<Outcome>('kept', 'refused', 'unknown')
  const visits = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 })
  const runs = fc.array(fc.tuple(visits, fc.array(outcome, { maxLength: 2 })), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(runs, async (rounds) => {
      const outcomes: Outcome[] = []
      const writer = writing(outcomes)
      const queue = new ClickQueue(writer, ignore)
      const expected = new Map<number, number>()
      for (const [links, next] of rounds) {
        outcomes.push(...next)
        for (const link of links) {
          queue.add(visit(link))
          expected.set(link, (expected.get(link) ?? 0) + 1)
        }
        await queue.flush()
      }
      outcomes.splice(3)
      await queue.close()
      for (const [link, clicks] of expected) assert.equal(writer.clicksOf(link), clicks)
      assert.equal(
        writer.kept.length,
        [...expected.values()].reduce((a, b) => a + b, 0),
      )
    }),
    { numRuns: 30 },
  )
})

test('an outage is told of once, and what is counted meanwhile is written after it', async () => {
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

test('of a batch that always fails, what fails alone is given up and counts as lost; the rest is written', async () => {
  const writer = writing()
  const poisoned = {
    ...writer,
    write: async (batch: number, visits: readonly Visit[]) => {
      if (visits.some(({ link }) => link === 13)) throw new TypeError('a bug')
      // As the thread does: a number that is not greater was written before.
      assert.ok([...writer.batches].every((earlier) => earlier < batch))
      return writer.write(batch, visits)
    },
  }
  const queue = new ClickQueue(poisoned, ignore)
  for (let link = 0; link < 20; link++) queue.add(visit(link))
  for (let n = 0; n < 6; n++) await queue.flush()
  queue.add(visit(20))
  await queue.close()
  assert.equal(meterOf(queue, 'lost'), 1)
  assert.deepEqual(
    writer.kept.map(({ link }) => link).sort((a, b) => a - b),
    Array.from({ length: 21 }, (_, n) => n).filter((n) => n !== 13),
  )
})

test('a flush ends under steady traffic, with what there was when it began', async () => {
  const writer = writing()
  const queue: ClickQueue = new ClickQueue(
    {
      ...writer,
      write: async (batch, visits) => {
        queue.add(visit(99))
        await writer.write(batch, visits)
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

test('memory is bounded: the oldest visits become counts, which say nothing of visitors; then clicks are lost', async () => {
  const writer = writing(['refused'])
  const queue = new ClickQueue(writer, ignore, { maxVisits: 10, maxCounts: 2 })
  const links = [1, 1, 2, 3, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
  for (const [at, link] of links.entries()) queue.add(visit(link, { atMs: hourMs + at }))
  assert.deepEqual([meterOf(queue, 'reduced'), meterOf(queue, 'lost')], [4, 1])
  await queue.close()
  assert.equal(writer.clicksOf(1), 3)
  assert.equal(writer.clicksOf(3), 0)
  const reduced = writer.kept.filter(({ isPrivate }) => isPrivate)
  assert.deepEqual(
    reduced.map(({ link, count, address, host, userAgent, languages }) => [
      link,
      count,
      address + host + userAgent + languages,
    ]),
    [
      [1, 3, ''],
      [2, 1, ''],
    ],
  )
  assert.equal(writer.kept.length, 12)
})

test('a full queue merges 1,000 visits at a time: more would block the event loop', async () => {
  const writer = writing()
  const queue = new ClickQueue(writer, assert.ifError)
  const reduced = () => meterOf(queue, 'reduced')
  for (let n = 0; n < 100_000; n++) queue.add(visit(1))
  assert.equal(reduced(), 0)
  for (let n = 0; n < 1_001; n++) queue.add(visit(1))
  assert.equal(reduced(), 2_000)
  await queue.close()
  assert.equal(writer.clicksOf(1), 101_001)
})

test('a stop without a database ends, and says how many clicks it leaves', async () => {
  const writer = writing(Array.from({ length: 10 }, () => 'refused' as const))
  const queue = new ClickQueue(writer, ignore)
  queue.add(visit(1))
  await queue.close()
  assert.equal(writer.kept.length, 0)
  assert.equal(meterOf(queue, 'unwritten'), 1)
})

test('a stop repeats a write that fails during the stop', async () => {
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

test('a click that is taken is counted; one that is not, is not', async () => {
  const writer = writing()
  writer.leave(1)
  const queue = new ClickQueue(writer, assert.ifError)
  assert.equal(await queue.take(visit(1)), true)
  assert.equal(await queue.take(visit(1)), false)
  assert.equal(meterOf(queue, 'people'), 1)
  await queue.close()
})
