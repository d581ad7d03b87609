import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sendRequest } from './client.ts'
import {
  eventually,
  freePort,
  listening,
  newDatabase,
  type RunningServer,
  run,
  runNpm,
  startServer,
} from './processes.ts'
import { exchange } from './raw-socket.ts'

const spaces = '/api/v1/spaces'

test('SIGTERM: active requests finish, later requests get 503, and /health/ready returns 503', async (t) => {
  const { path, variables } = newDatabase(t)
  const opsPort = await freePort()
  const server = await startServer(t, { ...variables, OPS_PORT: String(opsPort) })
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const ask = () => sendRequest({ agent, port: server.port, method: 'GET', path: spaces }, { key: server.key })
  assert.equal((await ask()).status, 200)
  const slow = await halfRequest(server, 'finished')

  server.child.kill('SIGTERM')
  await refusesConnections(server)
  const late = await ask()
  assert.deepEqual([late.status, late.body.code, late.headers.connection], [503, 'shutting_down', 'close'])
  for (const [path, status] of Object.entries({ '/health/ready': 503, '/health/live': 200 })) {
    const request = { agent: undefined, port: opsPort, method: 'GET', path }
    assert.equal((await sendRequest(request, { key: null })).status, status)
  }
  slow.finish()
  const answer = await slow.answer
  assert.match(answer, /^HTTP\/1\.1 201 /)
  assert.match(answer, /\r\nconnection: close\r\n/i)
  assert.match(answer, /"name":"finished"/)

  assert.equal((await server.ended).code, 0)
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  assert.deepEqual(
    database
      .prepare('select name from spaces')
      .all()
      .map(({ name }) => name),
    ['finished'],
  )
})

test('exits with 0 when a terminal sends Ctrl-C to both npm and the server', async (t) => {
  const server = await listening(runNpm(t, ['start'], { PORT: '0', ...newDatabase(t).variables }))
  const slow = await halfRequest(server, 'ctrl-c')
  process.kill(-Number(server.child.pid), 'SIGINT')
  await refusesConnections(server)
  slow.finish()
  assert.match(await slow.answer, /^HTTP\/1\.1 201 /)
  assert.equal((await server.ended).code, 0)
})

test('SIGINT: exits with 0 without waiting for idle connections and aborted requests', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  const idle = connect(server.port, '127.0.0.1')
  await once(idle, 'connect')
  const slow = await halfRequest(server, 'aborted')
  slow.socket.destroy()
  const { code, stdout } = await server.end('SIGINT')
  assert.equal(code, 0)
  const [stopping, stopped] = ['stopping', 'stopped'].map((message) => {
    const [line = ''] = new RegExp(`^.*"msg":"${message}".*$`, 'm').exec(stdout) ?? []
    return Date.parse(JSON.parse(line).time)
  })
  assert.ok(Number(stopped) - Number(stopping) < 10_000)
})

test('a second signal ends the server immediately with exit code 1', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  await halfRequest(server, 'never finished')
  const impatience = setInterval(() => server.child.kill('SIGTERM'), 100)
  const { code, stdout } = await server.ended
  clearInterval(impatience)
  assert.equal(code, 1)
  assert.match(stdout, /"level":40.*second signal/)
})

test('an uncaught error is logged with its stack and ends the server with exit code 1', async (t) => {
  const bug = `process.on('SIGUSR2', () => { throw new Error('a bug') })`
  const { variables } = newDatabase(t)
  const server = await listening(run(t, { PORT: '0', ...variables }, {}, preloading(bug)))
  const slow = await halfRequest(server, 'finished')
  server.child.kill('SIGUSR2')
  await refusesConnections(server)
  slow.finish()
  assert.match(await slow.answer, /^HTTP\/1\.1 201 /)
  const { code, stdout } = await server.ended
  assert.equal(code, 1)
  const [line = ''] = /^.*"level":60.*$/m.exec(stdout) ?? []
  assert.match(JSON.parse(line).err.stack, /^Error: a bug\n +at /)
})

test('the server ends even if its log is not read', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  server.child.stdout?.pause()
  const request = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
  const last = request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  // About 600 KB of log, which is more than a pipe holds.
  for (let round = 0; round < 3; round++) await exchange(server.port, [request.repeat(1_000), last])
  server.child.kill('SIGTERM')
  await once(server.child, 'exit')
  server.child.stdout?.resume()
  assert.equal((await server.ended).signal, 'SIGKILL')
})

test("logs that the database can't be closed, and exits with 1", async (t) => {
  const bug = `
    import { DatabaseSync } from 'node:sqlite'
    const broken = () => { throw new Error('stuck') }
    process.on('SIGUSR2', () => { DatabaseSync.prototype.close = broken; process.kill(process.pid, 'SIGTERM') })`
  const server = await listening(run(t, { PORT: '0', ...newDatabase(t).variables }, {}, preloading(bug)))
  const { code, stdout } = await server.end('SIGUSR2')
  assert.equal(code, 1)
  assert.match(stdout, /"level":60.*stuck/)
})

/** Returns arguments for Node that run the script before the server. */
function preloading(script: string): string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
}

/** Resolves once the server refuses connections. */
async function refusesConnections({ port }: RunningServer): Promise<void> {
  await eventually(
    () =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1')
        socket.once('connect', () => socket.destroy())
        socket.once('close', (hadError) => resolve(hadError))
        socket.once('error', () => undefined)
      }),
  )
}

interface HalfRequest {
  readonly socket: Socket
  readonly answer: Promise<string>
  finish(): void
}

/** Sends the first half of a request that stores a space. Resolves once the server has received it. */
async function halfRequest(server: RunningServer, name: string): Promise<HalfRequest> {
  // Waits while the server is overloaded, which it may be after its start on a busy machine.
  await server.send('GET', spaces)
  const socket = connect(server.port, '127.0.0.1')
  const body = `name=${encodeURIComponent(name)}`
  let text = ''
  const answer = new Promise<string>((resolve, reject) => {
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    socket.once('close', () => resolve(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')))
    socket.once('error', reject)
  })
  answer.catch(() => undefined)
  const head = [
    `POST ${spaces} HTTP/1.1`,
    `Host: 127.0.0.1:${server.port}`,
    `Authorization: Bearer ${server.key}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
  await eventually(() => text.startsWith('HTTP/1.1 100'))
  return { socket, answer, finish: () => void socket.write(body.slice(5)) }
}
