import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noClicksYet } from './statistics.ts'

test('an active link without clicks is offered to open; one that leads no one on says why', () => {
  const short_url = 'https://go.acme.com/summer'
  assert.match(noClicksYet({ short_url, status: 'active' }).text, /href="https:\/\/go\.acme\.com\/summer"/)
  for (const status of ['scheduled', 'expired', 'disabled'] as const) {
    const { text } = noClicksYet({ short_url, status })
    assert.ok(text.includes(`The link is ${status}`) && !text.includes('href'))
  }
})
