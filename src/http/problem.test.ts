import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validationFailed } from '../errors.ts'
import { problemOf } from './problem.ts'

test('all that is wrong with one field stands together, in its order', () => {
  const failure = validationFailed([
    { field: 'name', code: 'too_long', message: 'Too long.' },
    { field: 'color', code: 'out_of_range', message: 'Too high.' },
    { field: 'name', code: 'has_space', message: 'A space.' },
  ])
  const { message, errors } = JSON.parse(problemOf(failure, 'id', undefined).body)
  assert.equal(message, 'Too long. (and 2 more errors)')
  assert.deepEqual(errors, { name: ['Too long.', 'A space.'], color: ['Too high.'] })
})
