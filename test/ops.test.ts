/** The ops listener of a real process. */
import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { sendRequest } from './client.ts'
import { runHere } from './command-line.ts'
import { eventually, freePort, newDatabase, run, startServer, type Variables } from './processes.ts'

/** A server with an ops listener, and what asks it. */
async function startOperated(t: TestContext, variables: Variables) {
  const port = await freePort()
  const server = await startServer(t, { ...variables, OPS_PORT: String(port) })
  const ask = (path: string) => sendRequest({ agent: undefined, port, method: 'GET', path }, { key: null })
  return { port, server, ask }
}

test('OPS_PORT answers on 127.0.0.1, and counts what the API did', async (t) => {
  const { server, ask } = await startOperated(t, newDatabase(t).variables)
  assert.deepEqual((await ask('/health/ready')).body, { status: 'ready' })
  await server.send('GET', '/api/v1/spaces')
  const metrics = await ask('/metrics')
  assert.match(metrics.text, /_count\{route="\/api\/v1\/spaces",method="GET",status="200"\} 1$/m)
  assert.equal(metrics.text.includes(server.key), false)
  assert.equal((await server.send('GET', '/metrics')).status, 404)
})

test('503 from /health/ready while the database is away, 200 once it is back; /health/live is 200 all the time', async (t) => {
  const { path, variables } = newDatabase(t)
  const { ask } = await startOperated(t, variables)
  renameSync(path, `${path}-away`)
  const away = await ask('/health/ready')
  assert.deepEqual([away.status, away.body.code], [503, 'database_unavailable'])
  assert.equal((await ask('/health/live')).status, 200)
  renameSync(`${path}-away`, path)
  assert.equal((await ask('/health/ready')).status, 200)
})

test('while the process drains, /health/ready is 503 shutting_down and /health/live 200', async (t) => {
  const { server, ask } = await startOperated(t, newDatabase(t).variables)
  let body = ''
  // Half a request, which the server waits for.
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
  socket.on('data', (text: string) => {
    body += text
  })
  socket.write(
    `POST /api/v1/spaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.key}\r\nExpect: 100-continue\r\n` +
      'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n\r\nname',
  )
  await eventually(() => body.startsWith('HTTP/1.1 100'))
  server.child.kill('SIGTERM')
  await eventually(async () => (await ask('/health/ready')).body.code === 'shutting_down')
  assert.equal((await ask('/health/live')).status, 200)
  socket.write('=x')
  assert.equal((await server.ended).code, 0)
  assert.match(body, /^HTTP\/1\.1 201 /m)
})

test('an OPS_PORT in use is said in one sentence, with exit code 1, and does not use up the first key', async (t) => {
  const { variables } = newDatabase(t)
  const { port } = await startOperated(t, newDatabase(t).variables)
  const { code, stdout, stderr } = await run(t, { ...variables, PORT: '0', OPS_PORT: String(port) }).ended
  assert.deepEqual([code, stdout], [1, ''])
  assert.equal(
    stderr,
    `Port ${port} of 127.0.0.1 is in use by another process. Stop that process, or set OPS_PORT to another port.\n`,
  )
  assert.equal((await runHere(['keys', 'list', '--json'], { variables })).stdout, '[]\n')
})
