import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FormState } from './form-state.ts'
import { linkFolds } from './link-controls.ts'

test('a space that is not among those that are offered stays chosen', () => {
  const space = { id: 1, name: 'Press', color: 1, created_at: '', updated_at: '' }
  const choices = { domains: [], spaces: [space] }
  const ofSpace = (space_id: number | null) => linkFolds(new FormState({ space_id }), choices).text
  assert.match(ofSpace(101), /<option value="101" selected>Space 101<\/option>/)
  assert.match(ofSpace(1), /<option value="1" selected>Press<\/option><\/select>/)
  assert.doesNotMatch(ofSpace(null), /selected>(Press|Space)/)
})
