/** Rate limits and keys of two processes on one database. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, type TestContext, test } from 'node:test'
import { type Answer, sendRequest } from './client.ts'
import { runHere } from './command-line.ts'
import { eventually, newDatabase, type RunningServer, startServer } from './processes.ts'

const path = '/api/v1/spaces'
const limit = 1_500
/** Longer than any of these tests. Seconds. */
const longEnough = 20

const { variables } = newDatabase({ after })
const start = () => startServer({ after }, { ...variables, RATE_LIMIT: String(limit) })
const nodes = [await start(), await start()] as const

/** Returns a new key whose rate-limit window outlasts the test. */
async function newKey(): Promise<string> {
  for (;;) {
    const { stdout } = await runHere(['keys', 'create', '--name', 'test', '--account', '1'], { variables })
    const key = stdout.trim()
    if (secondsLeft(await nodes[0].send('HEAD', path, { key })) >= longEnough) return key
  }
}

function secondsLeft({ headers }: Answer): number {
  return Number(/;t=(\d+)/.exec(String(headers.ratelimit))?.[1])
}

/** Sends requests over a few connections until the first 429. Returns the number of accepted requests. */
async function spendAll(t: TestContext, { port }: RunningServer, key: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  t.after(() => agent.destroy())
  let letIn = 0
  let isRefused = false
  const worker = async () => {
    while (!isRefused) {
      const { status } = await sendRequest({ agent, port, method: 'HEAD', path }, { key })
      if (status === 429) isRefused = true
      // A busy machine sheds load, which does not count.
      if (status === 200) letIn += 1
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  return letIn
}

test('429 for a key holds across the nodes, within a tenth of its limit', async (t) => {
  const key = await newKey()
  const letIn = await Promise.all(nodes.map((node) => spendAll(t, node, key)))
  const all = letIn.reduce((sum, each) => sum + each, 0)
  assert.ok(all >= limit * 0.95 && all <= limit * 1.1, `${letIn} of ${limit}`)
})

test('401 on every node for a key that was revoked on one, within ten seconds', async () => {
  const key = await newKey()
  const { id } = JSON.parse((await runHere(['keys', 'list', '--json'], { variables })).stdout).at(-1)
  for (const node of nodes) assert.equal((await node.send('GET', path, { key })).status, 200)
  await runHere(['keys', 'revoke', String(id)], { variables })
  for (const node of nodes) {
    await eventually(async () => (await node.send('GET', path, { key })).body.code === 'revoked_api_key')
  }
})

test('429 for a key outlives the node that counted', async (t) => {
  const key = await newKey()
  const letIn = await spendAll(t, nodes[0], key)
  await nodes[0].end('SIGTERM')
  const next = await start()
  await eventually(async () => (await next.send('HEAD', path, { key })).status === 429)
  assert.ok(letIn <= limit)
})
