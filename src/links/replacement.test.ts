import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxTargetLength } from '../names/web-url.ts'
import { replacedDestinations } from './replacement.ts'

const rules = { urlSchemes: [], shortUrl: (host: string, alias: string) => `https://${host}/${alias}` }

function replaced(url: string, find: string, replace: string) {
  const link = { url, rules: null, alias: 'sale', domain_name: 'go.acme.com' }
  const result = replacedDestinations(link, { find, replace, part: 'all' }, rules)
  return result !== undefined && 'message' in result ? result.message : result?.url
}

test('a replacement refuses a destination that gets too long, without building a text of many megabytes', () => {
  const start = 'https://acme.com/'
  const most = maxTargetLength - start.length
  const letters = (count: number) => 'x'.repeat(count)
  assert.equal(replaced(`${start}z`, 'z', letters(most)), start + letters(most))
  assert.match(
    String(replaced(`${start}z`, '/z', letters(maxTargetLength))),
    /^A URL has at most 8192 characters: write /,
  )
  // A string can't have more than 2 ** 29 UTF-16 code units.
  assert.match(
    String(replaced(start + 'ä'.repeat(8_000), 'ä', letters(70_000))),
    /^A URL has at most 8192 characters: write /,
  )
})
