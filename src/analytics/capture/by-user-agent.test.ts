import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byUserAgent } from './by-user-agent.ts'

test('judges a user agent once while it is cached, by its first 512 characters', () => {
  const asked: string[] = []
  const judged = byUserAgent((userAgent) => {
    asked.push(userAgent)
    return userAgent.length
  })
  assert.deepEqual([judged('Firefox'), judged('Firefox')], [7, 7])
  assert.deepEqual([judged('é'.repeat(600)), judged('é'.repeat(700))], [512, 512])
  assert.deepEqual(asked, ['Firefox', 'é'.repeat(512)])
  // The cache spares an entry that was read, once.
  for (let n = 0; n < 4_000; n++) judged(`Firefox/${n}`)
  asked.length = 0
  judged('Firefox')
  assert.deepEqual(asked, ['Firefox'])
})
