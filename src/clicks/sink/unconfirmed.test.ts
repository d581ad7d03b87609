/** Batches that the sink accepts without confirming them. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { clicksOf, SinkInMemory } from '../../../test/click-rows.ts'
import { eventually, newFolder } from '../../../test/processes.ts'
import { Dropped, type SinkBatch, SinkFailure, Unconfirmed } from './sink.ts'
import { Spool } from './spool.ts'
import { openSpoolFolder } from './spool-folder.ts'

const hourMs = 3_600_000
const refused = new SinkFailure('refused.')
const unconfirmed = new Unconfirmed('A proxy may remove headers.')

/** A spool that is opened for each round, on a clock that runs only when the test says so. */
function spoolOf(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const root = newFolder(t)
  const sink = new SinkInMemory()
  const problems: unknown[] = []
  const open = () =>
    new Spool(openSpoolFolder(root), sink, { maxBytes: 1e9, onProblem: (error) => problems.push(error) })
  /** Opens the spool, adds clicks and stops it, which sends waiting batches once. Returns its meters. */
  const round = async (first: number, last: number) => {
    const spool = open()
    spool.put(clicksOf(first, last))
    await spool.close()
    const [sent, waiting, , givenUp] = spool.measured
    return { sent, waiting, givenUp }
  }
  const wait = (ms: number) => t.mock.timers.tick(ms)
  const dropped = () => problems.filter((problem): problem is Dropped => problem instanceof Dropped)
  return { folder: join(root, '0'), sink, problems, open, round, wait, dropped }
}

test('are sent again for a day, across restarts, and then dropped one by one', async (t) => {
  const { folder, sink, round, wait, dropped } = spoolOf(t)
  sink.failure = unconfirmed
  await round(1, 3)
  wait(12 * hourMs)
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 2, givenUp: 0 })
  wait(12 * hourMs - 1)
  assert.deepEqual(await round(5, 5), { sent: 0, waiting: 3, givenUp: 0 })
  assert.deepEqual(dropped(), [])
  wait(1)
  assert.deepEqual(await round(6, 6), { sent: 0, waiting: 3, givenUp: 3 })
  const [first] = sink.attempts
  const details = 'rows: 3, attempts since the start: 1'
  const what = `Batch ${first?.id} was dropped after a day without a confirmation (${details}).`
  assert.deepEqual(
    dropped().map((problem) => problem.message),
    [`${what} A proxy may remove headers.`],
  )
  wait(12 * hourMs)
  assert.deepEqual(await round(7, 7), { sent: 0, waiting: 3, givenUp: 1 })
  sink.failure = null
  assert.deepEqual(await round(8, 8), { sent: 4, waiting: 0, givenUp: 0 })
  assert.deepEqual(sink.links, [5, 6, 7, 8])
  assert.deepEqual(readdirSync(folder), [])
})

test('keep waiting for any number of days in which the sink refuses them', async (t) => {
  const { sink, round, wait } = spoolOf(t)
  sink.failure = refused
  await round(1, 1)
  wait(72 * hourMs)
  assert.deepEqual(await round(2, 2), { sent: 0, waiting: 2, givenUp: 0 })
  sink.failure = unconfirmed
  assert.deepEqual(await round(3, 3), { sent: 0, waiting: 3, givenUp: 0 })
  wait(24 * hourMs)
  sink.failure = refused
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 4, givenUp: 0 })
  sink.failure = null
  assert.deepEqual(await round(5, 5), { sent: 5, waiting: 0, givenUp: 0 })
})

test('have a day again after the sink has confirmed one', async (t) => {
  const { sink, round, wait } = spoolOf(t)
  sink.failure = unconfirmed
  await round(1, 1)
  wait(23 * hourMs)
  sink.failure = null
  await round(2, 2)
  sink.failure = unconfirmed
  await round(3, 3)
  wait(23 * hourMs)
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 2, givenUp: 0 })
  wait(hourMs)
  assert.deepEqual(await round(5, 5), { sent: 0, waiting: 2, givenUp: 1 })
})

test('wait while the disk cannot record when that began, and from then on a day', async (t) => {
  const { folder, sink, problems, round, wait } = spoolOf(t)
  sink.failure = unconfirmed
  const record = join(folder, 'unconfirmed')
  mkdirSync(record, { recursive: true })
  await round(1, 1)
  wait(25 * hourMs)
  assert.deepEqual(await round(2, 2), { sent: 0, waiting: 2, givenUp: 0 })
  assert.match(problems.join('\n'), /Clicks cannot be spooled: EISDIR/)
  rmdirSync(record)
  // As a crash or a full disk leaves it.
  writeFileSync(record, '')
  assert.deepEqual(await round(3, 3), { sent: 0, waiting: 3, givenUp: 0 })
  // The third batch was sealed in the same millisecond as the second, and so counts as a millisecond younger.
  wait(24 * hourMs + 1)
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 1, givenUp: 3 })
})

test('are dropped with the number of attempts in the log', async (t) => {
  const { sink, open, wait, dropped } = spoolOf(t)
  t.mock.method(sink, 'send', async (batch: SinkBatch) => {
    sink.attempts.push(batch)
    if (sink.attempts.length === 2) wait(24 * hourMs)
    throw unconfirmed
  })
  const spool = open()
  spool.put(clicksOf(1, 1))
  spool.begin()
  await eventually(() => dropped().length === 1)
  assert.match(String(dropped()[0]), /attempts since the start: 2\)/)
  await spool.close()
})
