/** Rate limits and keys of two apps on one database, as in two processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, type TestApp } from './app.ts'
import { eventually } from './processes.ts'

const path = '/api/v1/spaces'
const limit = 1_500
/** Longer than any of these tests. Seconds. */
const longEnough = 20

const owner = await startApp()
const start = () => startApp({ rateLimit: limit, storage: () => owner.storage })
const nodes = [await start(), await start()] as const

/** Returns a new key whose rate-limit window outlasts the test. */
async function newKey() {
  for (;;) {
    const { key: record, secret: key } = await owner.issueKey()
    const { headers } = await nodes[0].send('HEAD', path, { key })
    if (Number(/;t=(\d+)/.exec(String(headers.ratelimit))?.[1]) >= longEnough) return { record, key }
  }
}

/** Sends requests from four clients until the first 429. Returns the number of accepted requests. */
async function spendAll(node: TestApp, key: string): Promise<number> {
  let accepted = 0
  let isRejected = false
  const client = async () => {
    while (!isRejected) {
      const { status } = await node.send('HEAD', path, { key })
      if (status === 429) isRejected = true
      if (status === 200) accepted += 1
    }
  }
  await Promise.all([client(), client(), client(), client()])
  return accepted
}

test('429 for a key holds across the nodes, within a tenth of its limit', async () => {
  const { key } = await newKey()
  const accepted = await Promise.all(nodes.map((node) => spendAll(node, key)))
  const all = accepted.reduce((sum, each) => sum + each, 0)
  assert.ok(all >= limit * 0.95 && all <= limit * 1.1, `${accepted} of ${limit}`)
})

test('401 on every node for a key that was revoked on one, within ten seconds', async () => {
  const { record, key } = await newKey()
  for (const node of nodes) assert.equal((await node.send('GET', path, { key })).status, 200)
  await owner.revokeKey(record)
  for (const node of nodes) {
    await eventually(async () => (await node.send('GET', path, { key })).body.code === 'revoked_api_key')
  }
})

test('429 for a key outlives the node that counted', async () => {
  const { key } = await newKey()
  assert.ok((await spendAll(nodes[0], key)) <= limit)
  await nodes[0].close()
  const next = await start()
  await eventually(async () => (await next.send('HEAD', path, { key })).status === 429)
})
