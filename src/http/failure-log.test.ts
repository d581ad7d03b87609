import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { type DatabaseTrouble, databaseUnavailable } from '../errors.ts'
import { FailureLog } from './failure-log.ts'

const minute = 60_000

/** Returns the log lines of failures with these causes. */
function logger() {
  const lines: Record<string, unknown>[] = []
  const failures = new FailureLog(pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
  let count = 0
  const add = (cause: unknown, reason?: DatabaseTrouble) =>
    failures.add(`request-${++count}`, databaseUnavailable(cause, reason))
  const said = () =>
    lines
      .splice(0)
      .map(({ request_id, reason, repeats, err }) => [
        request_id ?? repeats,
        reason ?? null,
        (err as Error | undefined)?.message ?? null,
      ])
  return { add, said }
}

test('logs the first failure of a kind with its cause, and counts the others in one line per minute', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { add, said } = logger()
  for (let n = 0; n < 1_000; n++) add(new Error('the disk is full'), 'disk_full')
  add(new Error('locked'))
  assert.deepEqual(said(), [
    ['request-1', 'disk_full', 'the disk is full'],
    ['request-1001', null, 'locked'],
  ])
  t.mock.timers.tick(minute)
  assert.deepEqual(said(), [[999, 'disk_full', null]])
  t.mock.timers.tick(minute)
  assert.deepEqual(said(), [])
})

test('logs the cause again in the next minute', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { add, said } = logger()
  for (let n = 0; n < 3; n++) {
    add('a text')
    add('a text')
    assert.equal(said().length, 1)
    t.mock.timers.tick(minute)
    assert.deepEqual(said(), [[1, null, null]])
  }
})

test('counts causes together when there are too many', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { add, said } = logger()
  for (let n = 0; n < 500; n++) add(new Error(`connection ${n}`))
  assert.equal(said().length, 101)
  t.mock.timers.tick(minute)
  assert.deepEqual(said(), [[399, null, null]])
})
