import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Removals } from './removals.ts'

test('resumes an interrupted removal soon, and reports one error for each outage', async (t) => {
  const { promise: finished, resolve } = Promise.withResolvers<void>()
  const problems: unknown[] = []
  let attempts = 0
  const finish = async () => {
    attempts += 1
    if (attempts < 3) throw new Error(`attempt ${attempts}`)
    resolve()
  }
  const removals = new Removals({ finish, onProblem: (error) => problems.push(error) })
  t.after(() => removals.close())
  removals.start()
  const interrupted = removals.run(() => Promise.reject(new Error('the database is down')))
  await assert.rejects(interrupted, { message: 'the database is down' })
  await finished
  assert.equal(problems.length, 1)
})
