import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byUserAgent } from './by-user-agent.ts'

test('each user agent is judged once, by its first 512 characters, as long as 2 000 others do not follow', () => {
  const asked: string[] = []
  const judged = byUserAgent((userAgent) => {
    asked.push(userAgent)
    return userAgent.length
  })
  assert.deepEqual([judged('Firefox'), judged('Firefox')], [7, 7])
  assert.deepEqual([judged('é'.repeat(600)), judged('é'.repeat(700))], [512, 512])
  assert.deepEqual(asked, ['Firefox', 'é'.repeat(512)])
  for (let n = 0; n < 2_000; n++) judged(`Firefox/${n}`)
  asked.length = 0
  judged('Firefox')
  assert.deepEqual(asked, ['Firefox'])
})
