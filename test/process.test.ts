/** The server as a process: starts, first access, the ops listener, and all ways to end. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createAccount } from '../src/accounts/store.ts'
import { generateKey } from '../src/keys/key.ts'
import { createFirstAccess, findAccess } from '../src/process/access.ts'
import { greeting } from '../src/process/greeting.ts'
import { version } from '../src/version.ts'
import { sendRequest } from './client.ts'
import { runHere } from './command-line.ts'
import { newStorage } from './engine.ts'
import { pathWithCurl } from './path.ts'
import {
  eventually,
  freePort,
  listening,
  newBench,
  newDatabase,
  newFolder,
  pasteCurl,
  pasteTrial,
  type RunningServer,
  runNpm,
} from './processes.ts'
import { exchange } from './raw-socket.ts'
import { repository } from './scripts.ts'
import { run, startServer } from './waymark.ts'

const domains = '/api/v1/domains'
const spaces = '/api/v1/spaces'

/** A container may have none. */
const hasIpv6 = Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1'))

test('the first npm start prints one key, a sign-in link and commands that store a link and visit it, and exits with 0 after Ctrl-C', async (t) => {
  const ports = { PORT: '0', REDIRECT_PORT: String(await freePort()) }
  const server = await listening(runNpm(t, ['start'], { ...ports, ...newDatabase(t).variables }))
  const text = server.stderr()
  assert.match(text, /^Waymark \d+\.\d+\.\d+\S* is listening on http:\/\/localhost:\d+ \(documentation: \/docs\)$/m)
  assert.equal(text.match(/^ +wm_\w{49}$/gm)?.length, 1)
  const dashboard = `^Open the dashboard: http://localhost:${server.port}/app/sign-in#wml_[\\w-]{43} {2}\\(works once, for 30 minutes\\)$`
  assert.match(text, new RegExp(dashboard, 'm'))
  const visited = new RegExp(`HTTP/1.1 302\\b[^]*^location: http://localhost:${server.port}/docs\\r$`, 'im')
  assert.match(await pasteTrial(server, pathWithCurl(t)), visited)
  const [link] = (await server.send('GET', '/api/v1/links')).body.data
  assert.equal(link.short_url, `http://localhost:${ports.REDIRECT_PORT}/docs`)

  const idle = connect(server.port, '127.0.0.1')
  await once(idle, 'connect')
  const aborted = await halfRequest(server, 'aborted')
  aborted.socket.destroy()
  const slow = await halfRequest(server, 'ctrl-c')
  // A terminal sends the signal to both npm and the server.
  process.kill(-Number(server.child.pid), 'SIGINT')
  await refusesConnections(server)
  slow.finish()
  assert.match(await slow.answer, /^HTTP\/1\.1 201 /)
  const { code, stdout } = await server.ended
  assert.equal(code, 0)
  // The server did not wait for the other two connections.
  const [stopping, stopped] = ['stopping', 'stopped'].map((message) => {
    const [line = ''] = new RegExp(`^.*"msg":"${message}".*$`, 'm').exec(stdout) ?? []
    return Date.parse(JSON.parse(line).time)
  })
  assert.ok(Number(stopped) - Number(stopping) < 10_000)
})

test('npm start runs the same command under the pinned Node, the running Node, and in shells without exec', () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const command = 'node bin/waymark.js start'
  const running = `"\${npm_node_execpath:-node}" bin/waymark.js start`
  const start = [`node --check bin/waymark.js && exec ${command}`, `exec ${running}`, command]
  assert.equal(scripts.start, start.join(' || '))
})

test('two servers that start together on one empty database create one key; a later start keeps the data, and creates and registers none', async (t) => {
  const { variables } = newDatabase(t)
  const servers = await Promise.all([startServer(t, variables), startServer(t, variables)])
  const keys = servers.map(({ key }) => key).filter((key) => key !== '')
  assert.equal(keys.length, 1)
  const [key = ''] = keys
  for (const server of servers) assert.equal((await server.send('GET', spaces, { key })).status, 200)
  assert.equal((await servers[0].send('POST', spaces, { key, form: { name: 'Kept' } })).status, 201)
  await Promise.all(servers.map(({ end }) => end('SIGTERM')))
  const other = generateKey()
  const later = await startServer(t, { ...variables, BOOTSTRAP_KEY: other })
  await later.said(/"level":40.*waymark keys create/)
  assert.equal((await later.send('GET', spaces, { key: other })).status, 401)
  await later.said(/^Lost your API key\? Create another: npx waymark keys create --name mine$/m)
  await later.said(
    /^Dashboard: http:\/\/localhost:\d+\/app {2}\(sign in with an API key, or run: npx waymark login-link\)$/m,
  )
  assert.doesNotMatch(later.stderr(), /wml?_|No API key/)
  const { body } = await later.send('GET', spaces, { key })
  assert.deepEqual(
    body.data.map(({ name }: { name: string }) => name),
    ['Kept'],
  )
  assert.equal((await later.end('SIGTERM')).stdout.includes(other), false)
})

test('a start without an active key prints how to issue one', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  await createAccount(storage, 'Acme')
  const access = await findAccess(storage, await createFirstAccess(storage), '')
  const url = 'http://localhost:3000'
  const listener = { port: 3000, url, boundUrl: url, isPublic: false }
  const text = greeting({ api: listener, redirect: undefined, dashboard: '', storage: storage.location, access })
  assert.match(text, /^No API key is active\. Create one: npx waymark keys create --name mine$/m)
})

test('accepts localhost, and 0.0.0.0 or :: as HOST, and a DATABASE_URL relative to the working directory; the dashboard URL starts with BASE_URL', async (t) => {
  for (const HOST of ['localhost', hasIpv6 ? '::' : '0.0.0.0']) {
    const cwd = newFolder(t)
    const urls = { DATABASE_URL: 'sqlite:here/waymark.db', BASE_URL: 'https://links.example.com' }
    const server = await listening(run(t, { PORT: '0', HOST, ...urls }, { cwd }))
    assert.match(server.url, /^http:\/\/localhost:\d+$/)
    const isOpen = server.stderr().includes(`${server.url} and all other addresses of this machine`)
    assert.equal(isOpen, HOST !== 'localhost')
    assert.match(server.stderr(), /^Open the dashboard: https:\/\/links\.example\.com\/app\/sign-in#wml_[\w-]{43} /m)
    assert.ok(existsSync(join(cwd, 'here/waymark.db')))
    assert.deepEqual((await pasteCurl(server, pathWithCurl(t))).data, [])
    await server.end('SIGTERM')
  }
})

test('registers BOOTSTRAP_KEY only at the first start, without printing it; the first line has the version, the addresses and the database, at every level and before warnings', async (t) => {
  const { path, variables: database } = newDatabase(t)
  const ports = { REDIRECT_PORT: String(await freePort()), OPS_PORT: String(await freePort()) }
  const key = generateKey()
  const variables = { ...database, ...ports, BOOTSTRAP_KEY: key }
  const expected = {
    version,
    redirect: `http://127.0.0.1:${ports.REDIRECT_PORT}`,
    ops: `http://127.0.0.1:${ports.OPS_PORT}`,
    database: `sqlite:${path}`,
    msg: 'listening',
  }
  const checkFirst = ({ port, child }: RunningServer, stdout: string) => {
    const { level, time, pid, hostname, ...fields } = JSON.parse(stdout.split('\n')[0] as string)
    assert.deepEqual(fields, { ...expected, api: `http://127.0.0.1:${port}` })
    assert.deepEqual([level, pid], [30, child.pid])
  }
  const server = await startServer(t, { ...variables, UNKNOWN_PORT: '1' })
  assert.equal((await server.send('GET', domains, { key })).status, 200)
  const { stdout, stderr } = await server.end('SIGTERM')
  checkFirst(server, stdout)
  assert.doesNotMatch(stdout + stderr, /wm_/)
  // Without a terminal, stdout has only JSON lines.
  const messages = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).msg)
  assert.deepEqual(
    messages.filter((message) => !message.includes('UNKNOWN_PORT')),
    ['listening', 'request', 'stopping', 'stopped'],
  )
  assert.match(stderr, /^Open the dashboard: http:\/\/localhost:\d+\/app\/sign-in#wml_[\w-]{43} /m)
  const again = await startServer(t, { ...variables, LOG_LEVEL: 'silent' })
  assert.equal((await again.send('GET', domains, { key })).status, 200)
  const ended = await again.end('SIGTERM')
  checkFirst(again, ended.stdout)
  assert.doesNotMatch(ended.stdout + ended.stderr, /BOOTSTRAP_KEY|wml_/)
})

const bench = newBench()
const { path, variables } = newDatabase(bench)
const opsPort = await freePort()
const serverWithOps = await startServer(bench, {
  ...variables,
  ...{ OPS_PORT: String(opsPort), RATE_LIMIT: '0', LOG_LEVEL: 'warn' },
})
const askOps = (path: string) => sendRequest({ agent: undefined, port: opsPort, method: 'GET', path }, { key: null })

test('OPS_PORT has metrics of the API; the command line writes while the server writes; /health/ready returns 503 while the database is unavailable', async () => {
  const server = serverWithOps
  assert.deepEqual((await askOps('/health/ready')).body, { status: 'ready' })
  await server.send('GET', spaces)
  const { text } = await askOps('/metrics')
  assert.match(text, /_count\{route="\/api\/v1\/spaces",method="GET",status="200"\} 1$/m)
  assert.equal(text.includes(server.key), false)
  assert.equal((await server.send('GET', '/metrics')).status, 404)

  let isDone = false
  const writers = Array.from({ length: 16 }, async () => {
    let stored = 0
    for (; !isDone; stored++) assert.equal((await server.send('POST', spaces, { form: { name: 'Busy' } })).status, 201)
    return stored
  })
  for (let n = 0; n < 4; n++) {
    const { code, stdout, stderr } = await runHere(['keys', 'create', '--name', `ci ${n}`], { variables })
    assert.equal(code, 0, stderr)
    assert.equal((await server.send('GET', spaces, { key: stdout.trim() })).status, 200)
  }
  isDone = true
  const stored = (await Promise.all(writers)).reduce((sum, count) => sum + count)
  assert.equal((await server.send('GET', spaces)).body.meta.total, stored)

  renameSync(path, `${path}-away`)
  const unready = await askOps('/health/ready')
  assert.deepEqual([unready.status, unready.body.code], [503, 'database_unavailable'])
  assert.equal((await askOps('/health/live')).status, 200)
  renameSync(`${path}-away`, path)
  assert.equal((await askOps('/health/ready')).status, 200)
})

test('SIGTERM: active requests finish, later requests get 503, and /health/ready returns 503', async (t) => {
  const server = serverWithOps
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
    assert.equal((await askOps(path)).status, status)
  }
  slow.finish()
  const answer = await slow.answer
  assert.match(answer, /^HTTP\/1\.1 201 /)
  assert.match(answer, /\r\nconnection: close\r\n/i)
  assert.match(answer, /"name":"finished"/)

  assert.equal((await server.ended).code, 0)
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  assert.equal(database.prepare(`select count(*) as count from spaces where name = 'finished'`).get()?.count, 1)
})

test('loads the libraries of OpenID Connect before it listens, and the library of passkeys only in a thread', async (t) => {
  const hook = `import { registerHooks } from 'node:module'
    const load = (url, context, next) => {
      const [library] = /@simplewebauthn.server(?=.esm.index)|openid-client(?=.build)/.exec(url) ?? []
      if (library) process.stderr.write('loads ' + library + ' ')
      return next(url, context)
    }
    registerHooks({ load })`
  const oidc = {
    OIDC_ISSUER: 'https://id.example.com',
    OIDC_CLIENT_ID: 'waymark',
    OIDC_CLIENT_SECRET: 'secret-of-the-client',
  }
  const variables = {
    PORT: '0',
    REDIRECT_PORT: '0',
    OPS_PORT: '0',
    ...newDatabase(t).variables,
    ...oidc,
    BASE_URL: 'https://links.example.com',
  }
  const server = await listening(
    run(t, variables, {}, ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]),
  )
  const [before = ''] = server.stderr().split('is listening')
  assert.deepEqual(
    ['@simplewebauthn/server', 'openid-client'].map((library) => before.includes(`loads ${library}`)),
    [false, true],
  )
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

test('an internal error is logged with the source files and lines of its stack', async (t) => {
  const { path, variables } = newDatabase(t)
  const server = await startServer(t, variables)
  const database = new DatabaseSync(path)
  database.exec('drop table spaces')
  database.close()
  assert.equal((await server.send('GET', '/api/v1/spaces')).status, 500)
  const { stack } = JSON.parse((await server.said(/^.*"level":50.*$/m))[0]).err
  const frames = [...stack.matchAll(/\((?:file:\/\/)?([^)]+?):(\d+):\d+\)$/gm)].filter(
    ([, file]) => !file.startsWith('node:'),
  )
  const own = frames.filter(([, file]) => file.startsWith(join(repository, 'src/')))
  assert.ok(own.length > 0, stack)
  for (const [, file, line] of own) assert.ok(readFileSync(file, 'utf8').split('\n').length > Number(line), stack)
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
