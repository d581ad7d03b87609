/** When a server starts the thread that writes clicks. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freePort, listening, newDatabase, run } from './processes.ts'

/** Prints the script of each thread. */
const preload = ['--import', 'data:text/javascript,process.stdout.write(process.argv[1]+"%5Cn")']
const clickThread = /analytics[/\\]worker\.ts$/m

async function startWith(t: TestContext, redirectPort: number) {
  const variables = { PORT: '0', REDIRECT_PORT: String(redirectPort), OPS_PORT: '0', ...newDatabase(t).variables }
  return listening(run(t, variables, {}, preload))
}

test('starts the thread that writes clicks before the first click', async (t) => {
  const server = await startWith(t, await freePort())
  await server.said(clickThread)
})

test('starts no such thread without a redirect server', async (t) => {
  const server = await startWith(t, 0)
  assert.equal((await server.send('GET', '/health')).status, 200)
  const { stdout } = await server.end('SIGTERM')
  assert.match(stdout, /main\.js$/m)
  assert.doesNotMatch(stdout, clickThread)
})
