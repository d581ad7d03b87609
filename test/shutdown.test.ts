import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sendRequest } from './client.ts'
import { eventually, listening, newDatabase, type RunningServer, run, runNpm, startServer } from './processes.ts'
import { exchange } from './raw-socket.ts'

const spaces = '/api/v1/spaces'

test('SIGTERM: what runs is finished, what arrives late is refused in words, nothing is lost', async (t) => {
  const { path, variables } = newDatabase(t)
  const server = await startServer(t, variables)
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const ask = () => sendRequest({ agent, port: server.port, method: 'GET', path: spaces }, { key: server.key })
  assert.equal((await ask()).status, 200)
  const slow = await halfRequest(server, 'finished')

  server.child.kill('SIGTERM')
  await refusesConnections(server)
  const late = await ask()
  assert.deepEqual([late.status, late.body.code, late.headers.connection], [503, 'shutting_down', 'close'])
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

test('a terminal that sends Ctrl-C to npm and to the server at once ends it with exit code 0', async (t) => {
  const server = await listening(runNpm(t, ['start'], { PORT: '0', ...newDatabase(t).variables }))
  const slow = await halfRequest(server, 'ctrl-c')
  process.kill(-Number(server.child.pid), 'SIGINT')
  await refusesConnections(server)
  slow.finish()
  assert.match(await slow.answer, /^HTTP\/1\.1 201 /)
  assert.equal((await server.ended).code, 0)
})

test('SIGINT: an idle connection is not awaited; exit code 0', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  const idle = connect(server.port, '127.0.0.1')
  await new Promise((resolve) => idle.once('connect', resolve))
  const { code, stdout } = await server.end('SIGINT')
  assert.equal(code, 0)
  assertNothingAwaited(stdout)
})

test('an aborted request does not delay the exit', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  const slow = await halfRequest(server, 'aborted')
  slow.socket.destroy()
  const { code, stdout } = await server.end('SIGTERM')
  assert.equal(code, 0)
  assertNothingAwaited(stdout)
})

test('a second signal ends the server at once, with exit code 1', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  await halfRequest(server, 'never finished')
  const impatience = setInterval(() => server.child.kill('SIGTERM'), 100)
  const { code, stdout } = await server.ended
  clearInterval(impatience)
  assert.equal(code, 1)
  assert.match(stdout, /"level":40.*second signal/)
})

test('an error that nobody caught is logged with its stack, and ends the server with exit code 1', async (t) => {
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

test('a log that nobody reads does not keep the server from its end', async (t) => {
  const server = await startServer(t, newDatabase(t).variables)
  server.child.stdout?.pause()
  const request = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
  const last = request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  // Some 600 KB of log: more than what lies between two processes holds.
  for (let round = 0; round < 3; round++) await exchange(server.port, [request.repeat(1_000), last])
  server.child.kill('SIGTERM')
  await once(server.child, 'exit')
  server.child.stdout?.resume()
  assert.equal((await server.ended).signal, 'SIGKILL')
})

test('a database that cannot be closed is logged, and ends the server with exit code 1', async (t) => {
  const bug = `
    import { DatabaseSync } from 'node:sqlite'
    const broken = () => { throw new Error('stuck') }
    process.on('SIGUSR2', () => { DatabaseSync.prototype.close = broken; process.kill(process.pid, 'SIGTERM') })`
  const server = await listening(run(t, { PORT: '0', ...newDatabase(t).variables }, {}, preloading(bug)))
  const { code, stdout } = await server.end('SIGUSR2')
  assert.equal(code, 1)
  assert.match(stdout, /"level":60.*stuck/)
})

/** By its log the server stopped because all was done, not because the time for that was over. */
function assertNothingAwaited(stdout: string): void {
  const [stopping, stopped] = ['stopping', 'stopped'].map((message) => {
    const [line = ''] = new RegExp(`^.*"msg":"${message}".*$`, 'm').exec(stdout) ?? []
    return Date.parse(JSON.parse(line).time)
  })
  assert.ok(Number(stopped) - Number(stopping) < 10_000)
}

/** Arguments to Node that run the script before the server. */
function preloading(script: string): string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
}

/** Resolves once the server has begun to stop: its log says so later. */
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

/** Stores a space with a body that arrives in two halves; resolves once the server has the request. */
async function halfRequest(server: RunningServer, name: string): Promise<HalfRequest> {
  // A server that has just started on a machine with much to do may be overloaded for a moment.
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
