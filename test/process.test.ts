import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateKey } from '../src/keys/key.ts'
import { sendRequest } from './client.ts'
import { runHere } from './command-line.ts'
import { pathWithCurl } from './path.ts'
import {
  freePort,
  listening,
  newDatabase,
  newFolder,
  pasteCurl,
  pasteTrial,
  run,
  runNpm,
  startServer,
} from './processes.ts'
import { repository } from './scripts.ts'

const domains = '/api/v1/domains'
const spaces = '/api/v1/spaces'

/** A container may have none. */
const hasIpv6 = Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1'))

test('the first npm start prints one key, a sign-in link and commands that store a link and visit it', async (t) => {
  const ports = { PORT: '0', REDIRECT_PORT: String(await freePort()) }
  const server = await listening(runNpm(t, ['start'], { ...ports, ...newDatabase(t).variables }))
  const text = server.stderr()
  assert.match(text, /^Waymark \d+\.\d+\.\d+ is listening on http:\/\/localhost:\d+ \(documentation: \/docs\)$/m)
  assert.equal(text.match(/^ +wm_\w{49}$/gm)?.length, 1)
  const dashboard = `^Open the dashboard: http://localhost:${server.port}/app/sign-in#wml_[\\w-]{43} {2}\\(works once, for 30 minutes\\)$`
  assert.match(text, new RegExp(dashboard, 'm'))
  const visited = new RegExp(`HTTP/1.1 302\\b[^]*^location: http://localhost:${server.port}/docs\\r$`, 'im')
  assert.match(await pasteTrial(server, pathWithCurl(t)), visited)
  const [link] = (await server.send('GET', '/api/v1/links')).body.data
  assert.equal(link.short_url, `http://localhost:${ports.REDIRECT_PORT}/docs`)
})

test('npm start runs the same command in shells with and without exec', () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const [posix, windows, ...more] = scripts.start.split(' || ')
  assert.deepEqual([posix, more], [`exec ${windows}`, []])
})

test('two servers that start together on one empty database create one key; a later start keeps the data and creates none', async (t) => {
  const { variables } = newDatabase(t)
  const servers = await Promise.all([startServer(t, variables), startServer(t, variables)])
  const keys = servers.map(({ key }) => key).filter((key) => key !== '')
  assert.equal(keys.length, 1)
  const [key = ''] = keys
  for (const server of servers) assert.equal((await server.send('GET', spaces, { key })).status, 200)
  assert.equal((await servers[0].send('POST', spaces, { key, form: { name: 'Kept' } })).status, 201)
  await Promise.all(servers.map(({ end }) => end('SIGTERM')))
  const later = await startServer(t, variables)
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
})

test('a start without an active key prints how to issue one', async (t) => {
  const { variables } = newDatabase(t)
  await runHere(['accounts', 'create', '--name', 'Acme'], { variables })
  const server = await startServer(t, variables)
  await server.said(/^No API key is active\. Create one: npx waymark keys create --name mine$/m)
  assert.equal(server.key, '')
})

test('a relative DATABASE_URL is relative to the working directory; the dashboard URL starts with BASE_URL', async (t) => {
  const cwd = newFolder(t)
  const variables = { PORT: '0', DATABASE_URL: 'sqlite:here/waymark.db', BASE_URL: 'https://links.example.com' }
  const server = await listening(run(t, variables, { cwd }))
  await server.said(/^Open the dashboard: https:\/\/links\.example\.com\/app\/sign-in#wml_[\w-]{43} /m)
  assert.ok(existsSync(join(cwd, 'here/waymark.db')))
})

test('accepts localhost, 0.0.0.0 and :: as HOST', async (t) => {
  for (const host of ['localhost', '0.0.0.0', ...(hasIpv6 ? ['::'] : [])]) {
    const server = await startServer(t, { ...newDatabase(t).variables, HOST: host })
    assert.match(server.url, /^http:\/\/localhost:\d+$/)
    assert.equal(
      server.stderr().includes(`${server.url} and all other addresses of this machine`),
      host !== 'localhost',
    )
    assert.deepEqual((await pasteCurl(server, pathWithCurl(t))).data, [])
    await server.end('SIGTERM')
  }
})

test('registers BOOTSTRAP_KEY only at the first start, without printing it', async (t) => {
  const key = generateKey()
  const variables = { ...newDatabase(t).variables, BOOTSTRAP_KEY: key }
  const server = await startServer(t, variables)
  assert.equal((await server.send('GET', domains, { key })).status, 200)
  const { stdout, stderr } = await server.end('SIGTERM')
  assert.doesNotMatch(stdout + stderr, /wm_/)
  // Without a terminal, stdout has only JSON lines.
  const lines = stdout.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).msg),
    ['request', 'stopping', 'stopped'],
  )
  assert.match(stderr, /^Open the dashboard: http:\/\/localhost:\d+\/app\/sign-in#wml_[\w-]{43} /m)
  const again = await startServer(t, variables)
  assert.equal((await again.send('GET', domains, { key })).status, 200)
  const ended = await again.end('SIGTERM')
  assert.doesNotMatch(ended.stdout + ended.stderr, /BOOTSTRAP_KEY|wml_/)

  const other = generateKey()
  const warning = await startServer(t, { ...variables, BOOTSTRAP_KEY: other })
  await warning.said(/"level":40.*waymark keys create/)
  assert.equal((await warning.send('GET', domains, { key: other })).status, 401)
  assert.equal((await warning.end('SIGTERM')).stdout.includes(other), false)
})

test('OPS_PORT has metrics of the API; the command line writes while the server writes; /health/ready returns 503 while the database is unavailable', async (t) => {
  const { path, variables } = newDatabase(t)
  const port = await freePort()
  const settings = { OPS_PORT: String(port), RATE_LIMIT: '0', LOG_LEVEL: 'warn' }
  const server = await startServer(t, { ...variables, ...settings })
  const ask = (path: string) => sendRequest({ agent: undefined, port, method: 'GET', path }, { key: null })
  assert.deepEqual((await ask('/health/ready')).body, { status: 'ready' })
  await server.send('GET', spaces)
  const { text } = await ask('/metrics')
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
  const unready = await ask('/health/ready')
  assert.deepEqual([unready.status, unready.body.code], [503, 'database_unavailable'])
  assert.equal((await ask('/health/live')).status, 200)
  renameSync(`${path}-away`, path)
  assert.equal((await ask('/health/ready')).status, 200)
})
