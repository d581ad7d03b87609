import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clickOf, clicksOf, SinkInMemory } from '../../../test/click-rows.ts'
import { eventually, newFolder } from '../../../test/processes.ts'
import { SinkFailure, SpoolUnusable, sinkMeters } from './sink.ts'
import { pauseAfter, Spool } from './spool.ts'
import { openSpoolFolder } from './spool-folder.ts'

const away = new SinkFailure('away.')
const numbers = (first: number, last: number) => clicksOf(first, last).map(({ link_id }) => link_id)

interface Opened {
  readonly spool: Spool
  readonly folder: string
  readonly problems: unknown[]
}

function open(root: string, sink: SinkInMemory, maxBytes = 1e9): Opened {
  const [folder, problems] = [openSpoolFolder(root), [] as unknown[]]
  const spool = new Spool(folder, sink, { maxBytes, onProblem: (error) => problems.push(error) })
  return { spool, folder: join(root, String(folder.number)), problems }
}

const metersOf = ({ spool }: Opened) =>
  Object.fromEntries(sinkMeters(() => 0).map(({ name }, at) => [name, spool.measured[at]]))

const sealed = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.jsonl'))

test('sends clicks within two seconds in batches with unique ids, and deletes them from the disk', async (t) => {
  const sink = new SinkInMemory()
  const opened = open(newFolder(t), sink)
  opened.spool.start()
  opened.spool.put(clicksOf(1, 2))
  opened.spool.put([])
  opened.spool.put(clicksOf(3, 3))
  await eventually(() => sink.links.length === 3)
  opened.spool.put(clicksOf(4, 4))
  await eventually(() => sink.links.length === 4)
  assert.deepEqual(
    sink.batches.map(({ rows }) => rows),
    [clicksOf(1, 3), clicksOf(4, 4)],
  )
  assert.equal(new Set(sink.batches.map(({ id }) => id)).size, 2)
  await opened.spool.close()
  assert.deepEqual(metersOf(opened), {
    sent_rows_total: 4,
    waiting_batches: 0,
    waiting_bytes: 0,
    dropped_rows_total: 0,
  })
  assert.deepEqual(readdirSync(opened.folder), [])
  assert.deepEqual(opened.problems, [])
})

test('keeps clicks in order during an outage, in one fixed batch and one that grows', async (t) => {
  const sink = new SinkInMemory()
  const opened = open(newFolder(t), sink)
  sink.failure = away
  opened.spool.start()
  for (let link = 1; sink.attempts.length < 2; link++) {
    opened.spool.put([clickOf(link)])
    await eventually(() => sink.attempts.length === link)
  }
  opened.spool.put(clicksOf(3, 9))
  assert.deepEqual(opened.problems, [away])
  assert.equal(metersOf(opened).waiting_batches, 1)
  sink.failure = null
  await eventually(() => sink.links.length === 9)
  assert.equal(sink.batches.length, 2)
  assert.ok(sink.attempts.slice(0, 3).every(({ id, rows }) => id === sink.batches[0]?.id && rows.length === 1))
  assert.deepEqual(sink.links, numbers(1, 9))
  await opened.spool.close()
})

test('extends the pause between attempts from a second to a minute', () => {
  assert.deepEqual([0, 1, 2, 3, 6, 7, 2_000].map(pauseAfter), [1_000, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000])
})

test('sends the rest after the next start, with the same id', async (t) => {
  const root = newFolder(t)
  const [first, second] = [new SinkInMemory(), new SinkInMemory()]
  first.failure = away
  const { spool } = open(root, first)
  spool.put(clicksOf(1, 2))
  await spool.close()
  assert.equal(first.attempts.length, 1)
  const next = open(root, second)
  assert.equal(metersOf(next).waiting_batches, 1)
  next.spool.put(clicksOf(3, 3))
  await next.spool.close()
  assert.equal(second.batches[0]?.id, first.attempts[0]?.id)
  assert.deepEqual(second.links, numbers(1, 3))
})

test('stops within seconds if the sink does not respond', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const silent = {
    send: (_: unknown, signal: AbortSignal) => {
      resolve()
      return new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const problems: unknown[] = []
  const spool = new Spool(openSpoolFolder(newFolder(t)), silent, { maxBytes: 1e9, onProblem: (e) => problems.push(e) })
  spool.put(clicksOf(1, 1))
  spool.start()
  await promise
  await spool.close()
  assert.deepEqual(problems, [])
})

test('drops and counts the oldest batches at the size limit', async (t) => {
  const sink = new SinkInMemory()
  const root = newFolder(t)
  const opened = open(root, sink, 8_000)
  for (let link = 1; link <= 100; link++) {
    opened.spool.put([clickOf(link)])
    assert.ok((metersOf(opened).waiting_bytes ?? 0) <= 8_000)
  }
  const { dropped_rows_total: givenUp = 0 } = metersOf(opened)
  assert.ok(givenUp > 50 && givenUp < 90, `${givenUp}`)
  await opened.spool.close()
  assert.deepEqual(sink.links, numbers(givenUp + 1, 100))
})

test('keeps the batch that is being sent', async (t) => {
  const { promise: isSending, resolve: sends } = Promise.withResolvers<void>()
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const sink = new SinkInMemory()
  const slow = {
    send: async (batch: Parameters<SinkInMemory['send']>[0]) => {
      sends()
      await mayEnd
      return sink.send(batch)
    },
  }
  const spool = new Spool(openSpoolFolder(newFolder(t)), slow, { maxBytes: 8_000, onProblem: assert.ifError })
  spool.put([clickOf(1)])
  spool.start()
  await isSending
  for (let link = 2; link <= 100; link++) spool.put([clickOf(link)])
  end()
  await spool.close()
  assert.equal(sink.links[0], 1)
  assert.ok((sink.links[1] ?? 0) > 50)
  assert.equal(sink.links.at(-1), 100)
})

test('drops the oldest batches at the start if the limit was lowered', async (t) => {
  const root = newFolder(t)
  const sink = new SinkInMemory()
  sink.failure = away
  for (const first of [1, 11, 21]) {
    const { spool } = open(root, sink)
    spool.put(clicksOf(first, first + 9))
    await spool.close()
  }
  sink.failure = null
  const opened = open(root, sink, 6_000)
  assert.equal(metersOf(opened).dropped_rows_total, 10)
  await opened.spool.close()
  assert.deepEqual(sink.links, numbers(11, 30))
})

test('gives each process its own folder, and adopts folders without an owner', async (t) => {
  const root = newFolder(t)
  const sink = new SinkInMemory()
  sink.failure = away
  const all = [open(root, sink), open(root, sink), open(root, sink)]
  assert.deepEqual(
    readdirSync(root).filter((name) => !name.endsWith('.lock')),
    ['0', '1', '2'],
  )
  for (const [index, { spool }] of all.entries()) spool.put([clickOf(index + 1)])
  const [one, two, three] = all as [Opened, Opened, Opened]
  await two.spool.close()
  await three.spool.close()
  // As a process leaves it that was killed while it filled a batch.
  writeFileSync(join(three.folder, 'open'), `\n${JSON.stringify(clickOf(4))}\n{"at":"2026-`)
  sink.failure = null
  const next = open(root, sink)
  assert.equal(next.folder, two.folder)
  await next.spool.close()
  // Batches of two processes have no order if they were sealed in the same millisecond. An open batch is sealed last.
  assert.deepEqual(sink.links.slice(0, 2).toSorted(), [2, 3])
  assert.deepEqual(sink.links.slice(2), [4])
  assert.deepEqual(readdirSync(three.folder), [])
  await one.spool.close()
  assert.deepEqual(sink.links.slice(3), [1])
})

test('ignores a batch without a complete line', async (t) => {
  const root = newFolder(t)
  mkdirSync(join(root, '0'))
  writeFileSync(join(root, '0', 'open'), '\n{"at":"2026-')
  const opened = open(root, new SinkInMemory())
  assert.equal(metersOf(opened).waiting_batches, 0)
  assert.deepEqual(readdirSync(opened.folder), [])
  await opened.spool.close()
})

test('keeps the order if the clock goes back', async (t) => {
  const root = newFolder(t)
  const sink = new SinkInMemory()
  sink.failure = away
  const first = open(root, sink)
  first.spool.put([clickOf(1)])
  await first.spool.close()
  const [name = ''] = sealed(first.folder)
  renameSync(join(first.folder, name), join(first.folder, `9${name.slice(1)}`))
  const second = open(root, sink)
  sink.failure = null
  second.spool.put([clickOf(2)])
  await second.spool.close()
  assert.deepEqual(sink.links, [1, 2])
})

test('drops damaged rows and deleted batches, and sends the others', async (t) => {
  const root = newFolder(t)
  const sink = new SinkInMemory()
  sink.failure = away
  const opened = open(root, sink, 4_000)
  opened.spool.put(clicksOf(1, 5))
  opened.spool.put(clicksOf(6, 10))
  const [gone = '', damaged = ''] = sealed(opened.folder)
  rmSync(join(opened.folder, gone))
  const path = join(opened.folder, damaged)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"link_id":7', '"link_id":#'))
  sink.failure = null
  opened.spool.put(clicksOf(11, 11))
  await opened.spool.close()
  assert.deepEqual(sink.links, [6, 8, 9, 10, 11])
  assert.partialDeepStrictEqual(metersOf(opened), { sent_rows_total: 5, dropped_rows_total: 6, waiting_bytes: 0 })
})

test('reports a failing disk once, and stores later clicks', async (t) => {
  const sink = new SinkInMemory()
  const opened = open(newFolder(t), sink)
  opened.spool.put(clicksOf(1, 2))
  renameSync(opened.folder, `${opened.folder}.kept`)
  writeFileSync(opened.folder, '')
  opened.spool.put(clicksOf(3, 4))
  opened.spool.put(clicksOf(5, 5))
  assert.match(opened.problems.join(), /^Error: Clicks cannot be spooled: EEXIST[^\n]*\.$/)
  assert.ok(opened.problems[0] instanceof SpoolUnusable, 'the clicks are dropped')
  assert.equal(metersOf(opened).dropped_rows_total, 3)
  rmSync(opened.folder)
  renameSync(`${opened.folder}.kept`, opened.folder)
  // A failed append can leave a part of its rows.
  appendFileSync(join(opened.folder, 'open'), '\n{"at":"2026-')
  opened.spool.put(clicksOf(6, 6))
  await opened.spool.close()
  assert.deepEqual(sink.links, [1, 2, 6])
  assert.equal(metersOf(opened).waiting_bytes, 0)
  assert.equal(opened.problems.length, 1)
})
