import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validationFailed } from '../errors.ts'
import { problemOf } from './problem.ts'

test('the messages of one field stand together, in their order', () => {
  const failure = validationFailed([
    { field: 'name', code: 'too_long', message: 'Too long.' },
    { field: 'color', code: 'out_of_range', message: 'Too high.' },
    { field: 'name', code: 'has_space', message: 'A space.' },
  ])
  const { message, errors } = JSON.parse(problemOf(failure, 'id', undefined).body)
  assert.equal(message, 'Too long. (and 2 more errors)')
  assert.deepEqual(errors, { name: ['Too long.', 'A space.'], color: ['Too high.'] })
})

test('a field may have any name', () => {
  const names = ['__proto__', 'constructor', 'a"b', '7']
  const failure = validationFailed(names.map((field) => ({ field, code: 'unknown_field', message: `No ${field}.` })))
  const { errors, violations } = JSON.parse(problemOf(failure, 'id', undefined).body)
  for (const name of names) assert.deepEqual(Object.getOwnPropertyDescriptor(errors, name)?.value, [`No ${name}.`])
  assert.deepEqual(
    violations.map(({ field }: { field: string }) => field),
    names,
  )
})
