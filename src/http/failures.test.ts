import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ForeignKeyViolation } from '../errors.ts'
import { formatProblem, toFailure } from './failures.ts'

test('409 reference_conflict for a violated foreign key that no store handles', () => {
  const failure = toFailure(new ForeignKeyViolation('bookmarks_domain_id_fkey', new Error('insert into bookmarks')))
  const { status, body } = formatProblem(failure, 'id', undefined)
  const { code, errors } = JSON.parse(body)
  assert.deepEqual([status, code, Object.keys(errors)], [409, 'reference_conflict', ['id']])
  assert.doesNotMatch(body, /bookmarks|insert/)
})
