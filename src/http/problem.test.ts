import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ForeignKeyViolation, validationFailed } from '../errors.ts'
import { failureOf, problemOf } from './problem.ts'

test('groups messages by field in their order', () => {
  const failure = validationFailed([
    { field: 'name', code: 'too_long', message: 'Too long.' },
    { field: 'color', code: 'out_of_range', message: 'Too high.' },
    { field: 'name', code: 'has_space', message: 'A space.' },
  ])
  const { message, errors } = JSON.parse(problemOf(failure, 'id', undefined).body)
  assert.equal(message, 'Too long. (and 2 more errors)')
  assert.deepEqual(errors, { name: ['Too long.', 'A space.'], color: ['Too high.'] })
})

test('accepts any field name', () => {
  const names = ['__proto__', 'constructor', 'a"b', '7']
  const failure = validationFailed(names.map((field) => ({ field, code: 'unknown_field', message: `No ${field}.` })))
  const { errors, violations } = JSON.parse(problemOf(failure, 'id', undefined).body)
  for (const name of names) assert.deepEqual(Object.getOwnPropertyDescriptor(errors, name)?.value, [`No ${name}.`])
  assert.deepEqual(
    violations.map(({ field }: { field: string }) => field),
    names,
  )
})

test('409 reference_conflict for a violated foreign key that no store handles', () => {
  const failure = failureOf(new ForeignKeyViolation('bookmarks_domain_id_fkey', new Error('insert into bookmarks')))
  const { status, body } = problemOf(failure, 'id', undefined)
  const { code, errors } = JSON.parse(body)
  assert.deepEqual([status, code, Object.keys(errors)], [409, 'reference_conflict', ['id']])
  assert.doesNotMatch(body, /bookmarks|insert/)
})
