/** Batches that the sink accepts without confirming them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { clicksOf, SinkInMemory } from '../../../test/click-rows.ts'
import { newFolder } from '../../../test/processes.ts'
import { Dropped, SinkFailure, Unconfirmed } from './sink.ts'
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
  /** Restarts every hour. */
  const attemptFor = async (hours: number) => {
    for (let hour = 0; hour < hours; hour += 1) {
      wait(hourMs)
      await open().close()
    }
  }
  const dropped = () => problems.filter((problem): problem is Dropped => problem instanceof Dropped)
  return { root, folder: join(root, '0'), sink, problems, open, round, wait, attemptFor, dropped }
}

test('sends an unconfirmed batch for a day, across restarts, and then drops it', async (t) => {
  const { folder, sink, round, wait, attemptFor, dropped } = spoolOf(t)
  sink.failure = unconfirmed
  await round(1, 3)
  await attemptFor(12)
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 2, givenUp: 0 })
  await attemptFor(11)
  wait(hourMs - 1)
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
  await attemptFor(11)
  wait(hourMs)
  assert.deepEqual(await round(7, 7), { sent: 0, waiting: 3, givenUp: 1 })
  sink.failure = null
  assert.deepEqual(await round(8, 8), { sent: 4, waiting: 0, givenUp: 0 })
  assert.deepEqual(sink.links, [5, 6, 7, 8])
  assert.deepEqual(readdirSync(folder), [])
})

test('keeps batches while the sink rejects them', async (t) => {
  const { sink, round, attemptFor } = spoolOf(t)
  sink.failure = refused
  await round(1, 1)
  await attemptFor(72)
  assert.deepEqual(await round(2, 2), { sent: 0, waiting: 2, givenUp: 0 })
  sink.failure = unconfirmed
  assert.deepEqual(await round(3, 3), { sent: 0, waiting: 3, givenUp: 0 })
  await attemptFor(23)
  sink.failure = refused
  await attemptFor(1)
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 4, givenUp: 0 })
  sink.failure = null
  assert.deepEqual(await round(5, 5), { sent: 5, waiting: 0, givenUp: 0 })
})

for (const [what, pause] of [
  [
    'refused them',
    async ({ sink, attemptFor }: Pick<ReturnType<typeof spoolOf>, 'sink' | 'attemptFor'>) => {
      sink.failure = refused
      await attemptFor(24)
    },
  ],
  [
    'was not asked, because no process ran',
    async ({ wait }: Pick<ReturnType<typeof spoolOf>, 'wait'>) => wait(24 * hourMs),
  ],
] as const) {
  test(`starts a new day after the sink ${what}`, async (t) => {
    const { round, ...more } = spoolOf(t)
    more.sink.failure = unconfirmed
    await round(1, 1)
    await pause(more)
    more.sink.failure = unconfirmed
    assert.deepEqual(await round(2, 2), { sent: 0, waiting: 2, givenUp: 0 })
    await more.attemptFor(23)
    assert.deepEqual(await round(3, 3), { sent: 0, waiting: 3, givenUp: 0 })
    more.wait(hourMs)
    assert.deepEqual(await round(4, 4), { sent: 0, waiting: 2, givenUp: 2 })
  })
}

for (const [own, other] of [
  [24, 20],
  [20, 24],
] as const) {
  test(`keeps the later start of an adopted folder: ${other} hours ago instead of ${own}`, async (t) => {
    const { root, folder, sink, round, attemptFor } = spoolOf(t)
    sink.failure = unconfirmed
    const begun = (hours: number) => `${Date.now() - hours * hourMs} ${Date.now()}`
    const sealedAt = String(Date.now() - 48 * hourMs).padStart(15, '0')
    for (const [at, hours] of [own, other].entries()) {
      mkdirSync(join(root, String(at)))
      writeFileSync(join(root, String(at), 'unconfirmed'), begun(hours))
    }
    const [click] = clicksOf(1, 1)
    writeFileSync(join(root, '1', `${sealedAt}-1-${randomUUID()}.jsonl`), JSON.stringify(click))
    assert.deepEqual(await round(2, 2), { sent: 0, waiting: 2, givenUp: 0 })
    await attemptFor(3)
    assert.deepEqual(await round(3, 3), { sent: 0, waiting: 3, givenUp: 0 })
    await attemptFor(1)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith(sealedAt)),
      [],
    )
  })
}

test("keeps batches while the disk can't record the start of the day", async (t) => {
  const { folder, sink, problems, open, round, wait, attemptFor } = spoolOf(t)
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
  await attemptFor(23)
  wait(1)
  await open().close()
  wait(hourMs)
  assert.deepEqual(await round(4, 4), { sent: 0, waiting: 1, givenUp: 3 })
})
