import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { retry } from './queries.ts'

const conflict = Object.assign(new pg.DatabaseError('could not serialize access', 0, 'error'), { code: '40001' })

/** A transaction that fails `times` times before it succeeds, and the number of its attempts. */
function failing(times: number, error: Error) {
  const transaction = {
    attempts: 0,
    run: async () => {
      transaction.attempts += 1
      if (transaction.attempts <= times) throw error
      return 'done'
    },
  }
  return transaction
}

test('runs a transaction again after a serialization failure', async () => {
  const transaction = failing(2, conflict)
  assert.equal(await retry(transaction.run), 'done')
  assert.equal(transaction.attempts, 3)
})

test('throws a serialization failure after ten attempts, and any other error after one', async () => {
  const conflicting = failing(10, conflict)
  await assert.rejects(retry(conflicting.run), conflict)
  assert.equal(conflicting.attempts, 10)
  const broken = failing(10, new Error('broken'))
  await assert.rejects(retry(broken.run), /broken/)
  assert.equal(broken.attempts, 1)
})
