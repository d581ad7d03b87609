import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributes } from './buttons.ts'
import { icon } from './icons.ts'

test('attributes are escaped; null and false leave them out, true leaves out the value', () => {
  const { text } = attributes({ title: '"<&', min: 0, value: '', required: true, disabled: false, id: null })
  assert.equal(text, ' title="&quot;&lt;&amp;" min="0" value="" required')
})

test('an icon is a drawing that is not read aloud', () => {
  assert.match(icon('copy').text, /^<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><rect .*<\/svg>$/)
  assert.match(icon('chevron', 'turned').text, /^<svg class="icon turned" /)
})
