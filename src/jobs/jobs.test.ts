/** Jobs: one process at a time works on each, another one continues it, and nothing changes what it works on meanwhile. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { databaseUnavailable, Failure } from '../errors.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { Jobs, maxWaitMs, type Work } from './jobs.ts'
import { addJob, cancelJob, claimJob, findJob, inSteps, leaseMs, releaseJob, type Subject } from './store.ts'

const subject = { record: 'member', record_id: 7 } as const
const newJob = { ...subject, kind: 'forgetting', account: 1 } as const

/** Returns the jobs of a process that does some work, with a clock. */
function processOn(storage: Storage, work: Work, clock = { now: 0 }) {
  const problems: unknown[] = []
  const jobs = new Jobs(storage, {
    ...{ maxWaitMs: null, cancelledAtEnd: ['undo'], now: () => clock.now, onProblem: (error) => problems.push(error) },
  })
  jobs.define('forgetting', work)
  return { jobs, problems, clock }
}

/** Work in ten steps, which stops after some of them in the first attempt. */
function tenSteps(storage: Storage, stopAt: number) {
  const positions: number[] = []
  const work: Work = ({ lease, signal }) =>
    inSteps(
      storage,
      lease,
      async (_, position) => {
        if (positions.push(position) === stopAt) throw databaseUnavailable(new Error('cut'))
        return position === 9 ? null : { position: position + 1, done: position + 1, total: 10 }
      },
      signal,
    )
  return { positions, work }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  const open = (t: TestContext) => newStorage((work) => t.after(work), engine)

  test(`continues at the position of the last step after a failure: ${engine}`, async (t) => {
    const storage = await open(t)
    const { positions, work } = tenSteps(storage, 4)
    const { jobs, problems, clock } = processOn(storage, work)
    await addJob(storage, newJob)
    await assert.rejects(jobs.run(subject), { code: 'database_unavailable' })
    const { state, position, done, total, error } = (await findJob(storage, subject)) ?? assert.fail()
    assert.deepEqual([state, position, done, total, problems.length], ['failed', 3, 3, 10, 1])
    assert.match(String(error), /not available/)
    clock.now += 1_000
    await jobs.finish()
    assert.deepEqual(positions, [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9])
    assert.equal(await findJob(storage, subject), undefined)
  })

  test(`another process takes the job of a dead one when its lease ends, not before: ${engine}`, async (t) => {
    const storage = await open(t)
    const { positions, work } = tenSteps(storage, 0)
    const { jobs, clock } = processOn(storage, work)
    await addJob(storage, newJob)
    assert.ok(await claimJob(storage, subject, 'dead', clock.now))
    clock.now += leaseMs - 1
    await jobs.finish()
    assert.equal(positions.length, 0)
    clock.now += 1
    await jobs.finish()
    assert.equal(positions.length, 10)
  })

  test(`a step fails, and changes nothing, once another process has the job or it is cancelled: ${engine}`, async (t) => {
    const storage = await open(t)
    const steps: number[] = []
    const step = async () => {
      steps.push(1)
      return null
    }
    await addJob(storage, newJob)
    await claimJob(storage, subject, 'first', 0)
    await claimJob(storage, subject, 'second', leaseMs)
    await assert.rejects(inSteps(storage, { token: 'first' }, step), { message: /another process/ })
    assert.ok(await cancelJob(storage, subject))
    await assert.rejects(inSteps(storage, { token: 'second' }, step), { message: /is cancelled/ })
    assert.deepEqual(steps, [])
  })
}

test('renews the lease of a job whose step takes longer than the lease', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const renewed = query.selectFrom('jobs').select('id')
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { jobs, clock } = processOn(storage, async () => {
    begun.resolve()
    await end.promise
  })
  await addJob(storage, newJob)
  const running = jobs.run(subject)
  await begun.promise
  for (let n = 0; n < 9; n++) {
    clock.now += 3_333
    t.mock.timers.tick(leaseMs / 3)
    while ((await storage.execute(renewed.where('free_at_ms', '=', clock.now + leaseMs))).length === 0);
  }
  assert.equal(await claimJob(storage, subject, randomUUID(), clock.now), undefined)
  end.resolve()
  assert.equal(await running, true)
})

test('reports one problem for each outage, tries again, and finishes other jobs meanwhile', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const other = { ...newJob, record_id: 8 }
  const { promise: finished, resolve } = Promise.withResolvers<void>()
  let attempts = 0
  const { jobs, problems, clock } = processOn(storage, async ({ record_id }) => {
    if (record_id === 8) return
    attempts += 1
    if (attempts < 3) throw databaseUnavailable(new Error('down'))
    resolve()
  })
  t.after(() => jobs.close())
  await addJob(storage, newJob)
  await addJob(storage, other)
  for (let n = 0; n < 2; n++) {
    await assert.rejects(n === 0 ? jobs.finish() : jobs.run(subject), { code: 'database_unavailable' })
    assert.equal(await findJob(storage, other), undefined)
  }
  clock.now += 1_000
  jobs.start()
  await finished
  assert.equal(problems.length, 1)
})

test('deletes a job whose repetition would fail in the same way, and gives its failure to the request', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const { jobs, problems } = processOn(storage, () => Promise.reject(new Failure('import_edited', 'Edited')))
  await addJob(storage, newJob)
  await assert.rejects(jobs.run(subject), { code: 'import_edited' })
  assert.deepEqual(problems, [])
  assert.equal(await findJob(storage, subject), undefined)
})

test('stops after the current step when the process ends, and continues after the next start', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const { positions, work } = tenSteps(storage, 0)
  const first = processOn(storage, work)
  await addJob(storage, newJob)
  const running = first.jobs.run(subject)
  await first.jobs.close()
  assert.equal(await running, false)
  assert.ok(positions.length < 10)
  await processOn(storage, work).jobs.finish()
  assert.equal(positions.length, 10)
})

test('a process that is stopped ends only the kinds of jobs that it cancels, and lets others continue the rest', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const undo = { ...newJob, record: 'import', kind: 'undo' } as const
  const { jobs } = processOn(storage, () => Promise.resolve())
  const begun = [undo, newJob].map((job) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    // A stop between the claim and the first step.
    jobs.define(job.kind, async ({ lease, signal }) => {
      resolve()
      await once(signal, 'abort')
      await inSteps(storage, lease, async () => null, signal)
    })
    return promise
  })
  for (const job of [undo, newJob]) await addJob(storage, job)
  const running = [undo, newJob].map((job) => jobs.run(job))
  await Promise.all(begun)
  await jobs.close()
  assert.deepEqual(await Promise.all(running), [false, false])
  assert.equal(await findJob(storage, undo), undefined)
  assert.equal((await findJob(storage, newJob))?.state, 'waiting')
  const { positions, work } = tenSteps(storage, 0)
  await processOn(storage, work).jobs.finish()
  assert.equal(positions.length, 10)
})

test('continues few jobs of a kind at a time, other kinds meanwhile, and the next one as soon as one ends', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const other = Promise.withResolvers<void>()
  const { jobs } = processOn(storage, async () => other.resolve())
  t.after(() => jobs.close())
  const ends: (() => void)[] = []
  const [four, five] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  jobs.define('proof', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const count = ends.push(resolve)
    if (count === 4) four.resolve()
    if (count === 5) five.resolve()
    await promise
  })
  for (let n = 0; n < 5; n++) await addJob(storage, { kind: 'proof', record: 'proof', record_id: n, account: 1 })
  await addJob(storage, newJob)
  jobs.start()
  await Promise.all([four.promise, other.promise])
  assert.equal(ends.length, 4)
  // No time passes from here on.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  ends[0]?.()
  await five.promise
  t.mock.timers.reset()
  for (const end of ends) end()
})

test('takes no further job once the process stops', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const closed = Promise.withResolvers<void>()
  let taken = 0
  const { jobs } = processOn(storage, async ({ signal }) => {
    taken += 1
    // The process stops while it looks for jobs.
    closed.resolve(jobs.close())
    signal.throwIfAborted()
  })
  for (let n = 0; n < 9; n++) await addJob(storage, { ...newJob, record_id: n })
  jobs.start()
  await closed.promise
  assert.equal(taken, 1)
})

test('reports the final failure of a job that no request waits for', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  const edited = new Failure('import_edited', 'Edited')
  const reported = Promise.withResolvers<Subject>()
  const end = Promise.withResolvers<never>()
  const options = { onProblem: () => undefined, onFailure: (_: Failure, failed: Subject) => reported.resolve(failed) }
  const jobs = new Jobs(storage, { ...options, maxWaitMs: 0 })
  t.after(() => jobs.close())
  const begun = Promise.withResolvers<void>()
  jobs.define('forgetting', () => {
    begun.resolve()
    return end.promise
  })
  await addJob(storage, newJob)
  assert.equal(await jobs.run(subject), false)
  await begun.promise
  end.reject(edited)
  assert.deepEqual(await reported.promise, subject)
  const continued = Promise.withResolvers<Subject>()
  const onFailure = (_: Failure, failed: Subject) => continued.resolve(failed)
  const server = new Jobs(storage, { ...options, maxWaitMs: null, onFailure })
  t.after(() => server.close())
  server.define('forgetting', () => Promise.reject(edited))
  await addJob(storage, newJob)
  server.start()
  assert.deepEqual(await continued.promise, subject)
})

test('aborts the work of a job that is cancelled, at the first renewal of its lease', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const begun = Promise.withResolvers<void>()
  const { jobs } = processOn(storage, async ({ signal }) => {
    begun.resolve()
    await once(signal, 'abort')
    signal.throwIfAborted()
  })
  await addJob(storage, newJob)
  const running = jobs.run(subject)
  await begun.promise
  await cancelJob(storage, subject)
  t.mock.timers.tick(leaseMs / 3)
  assert.equal(await running, true)
})

test('a server takes a job that pauses only when it is due, and a request takes it immediately', async (t) => {
  const storage = await newStorage((work) => t.after(work), 'sqlite')
  await addJob(storage, newJob)
  await claimJob(storage, subject, 'first', 0)
  await releaseJob(storage, { token: 'first' }, 60_000)
  assert.equal(await claimJob(storage, subject, 'server', 59_999, { isDue: true }), undefined)
  assert.ok(await claimJob(storage, subject, 'request', 0))
  await releaseJob(storage, { token: 'request' }, 60_000)
  assert.ok(await claimJob(storage, subject, 'server', 60_000, { isDue: true }))
})

test('responds to a long job well before a proxy counts the server as failed', () => {
  const proxies = [
    ['nginx.conf', /proxy_read_timeout (\d+)s;/g],
    ['Caddyfile', /\(connections\)[\s\S]*?response_header_timeout (\d+)s/g],
  ] as const
  for (const [file, pattern] of proxies) {
    const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')
    const seconds = [...text.matchAll(pattern)].map(([, each]) => Number(each))
    assert.ok(seconds.length > 0)
    for (const each of seconds) assert.ok(maxWaitMs <= 500 * each, `${file}: ${each} s`)
  }
})
