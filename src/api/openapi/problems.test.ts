import assert from 'node:assert/strict'
import { test } from 'node:test'
import { change, form } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import type { Operation } from '../operations.ts'
import { problemExamples } from './problems.ts'

const schema = Type.String()
const lenient = form({ name: change({ schema, parse: (text) => text }) })
const broken = form({ name: change({ schema, parse: () => assert.fail('a bug') }) })

function operation(query: Operation['query']): Operation {
  return { id: 'listSongs', summary: 'Lists songs.', query, refused: { name: 'x' } } as unknown as Operation
}

test('throws if an example of a validation error is valid', () => {
  assert.throws(() => problemExamples([operation(lenient)]), /The example of listSongs that should be refused is not/)
})

test('throws if a form has a bug', () => {
  assert.throws(() => problemExamples([operation(broken)]), /a bug/)
})
