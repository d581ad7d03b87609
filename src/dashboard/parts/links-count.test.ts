import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedAtMost } from '../../links/counts-parameters.ts'
import { linkCount } from './links.ts'

test('links are counted up to a thousand', () => {
  const words = (links: number) => linkCount('space_id=2', links).text
  assert.equal(words(1), '<a href="/app/links?space_id=2">1 link</a>')
  assert.match(words(countedAtMost - 1), />1,000 links</)
  assert.match(words(countedAtMost), />More than 1,000 links</)
})
