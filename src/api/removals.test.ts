import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { maxWaitMs, Removals } from './removals.ts'

test('resumes an interrupted removal soon, and reports one error for each outage', async (t) => {
  const { promise: finished, resolve } = Promise.withResolvers<void>()
  const problems: unknown[] = []
  let attempts = 0
  const finish = async () => {
    attempts += 1
    if (attempts < 3) throw new Error(`attempt ${attempts}`)
    resolve()
  }
  const removals = new Removals({ finish, onProblem: (error) => problems.push(error) })
  t.after(() => removals.close())
  removals.start()
  const interrupted = removals.run(() => Promise.reject(new Error('the database is down')))
  await assert.rejects(interrupted, { message: 'the database is down' })
  await finished
  assert.equal(problems.length, 1)
})

test('responds to a long removal well before a proxy counts the server as failed', () => {
  const proxies = [
    ['nginx.conf', /proxy_read_timeout (\d+)s;/g],
    ['Caddyfile', /\(connections\)[\s\S]*?response_header_timeout (\d+)s/g],
  ] as const
  for (const [file, pattern] of proxies) {
    const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')
    const seconds = [...text.matchAll(pattern)].map(([, each]) => Number(each))
    assert.ok(seconds.length > 0)
    for (const each of seconds) assert.ok(maxWaitMs <= 500 * each, `${file}: ${each} s`)
  }
})
