import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateKey } from '../src/keys/key.ts'
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
import { scripts } from './scripts.ts'

const domains = '/api/v1/domains'
const spaces = '/api/v1/spaces'

/** A container may have none. */
const hasIpv6 = Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1'))

test('the first npm start prints one key and a curl line that works when pasted', async (t) => {
  const { variables } = newDatabase(t)
  const server = await listening(runNpm(t, ['start'], { PORT: '0', ...variables }))
  const text = server.stdout()
  assert.match(text, /^Waymark \d+\.\d+\.\d+ is listening on http:\/\/127\.0\.0\.1:\d+ \(documentation: \/docs\)$/m)
  assert.equal(text.match(/^ +wm_\w{49}$/gm)?.length, 1)
  const dashboard = `^Open the dashboard: http://localhost:${server.port}/app/sign-in#wml_[\\w-]{43} {2}\\(works once, for 30 minutes\\)$`
  assert.match(text, new RegExp(dashboard, 'm'))
  assert.deepEqual((await pasteCurl(server, pathWithCurl(t))).data, [])
})

test('the commands that the first npm start suggests end with a visit', async (t) => {
  const ports = { PORT: '0', REDIRECT_PORT: String(await freePort()) }
  const server = await listening(runNpm(t, ['start'], { ...ports, ...newDatabase(t).variables }))
  const text = await pasteTrial(server, pathWithCurl(t))
  const visited = new RegExp(`HTTP/1.1 302\\b[^]*^location: http://localhost:${server.port}/docs\\r$`, 'im')
  assert.match(text, visited)
  const [link] = (await server.send('GET', '/api/v1/links')).body.data
  assert.equal(link.short_url, `http://localhost:${ports.REDIRECT_PORT}/docs`)
})

test('npm start means the same in a shell that has exec and in one that has not', async () => {
  const [posix, windows, ...more] = scripts.start.split(' || ')
  assert.deepEqual([posix, more], [`exec ${windows}`, []])
})

test('a second start keeps the data and makes no second key', async (t) => {
  const { variables } = newDatabase(t)
  const first = await startServer(t, variables)
  assert.equal((await first.send('POST', spaces, { form: { name: 'Kept' } })).status, 201)
  await first.end('SIGTERM')
  const second = await startServer(t, variables)
  await second.said(/^Lost your API key\? Issue another: npx waymark keys create --name mine$/m)
  await second.said(/^Get a link that opens the dashboard: npx waymark login-link$/m)
  assert.doesNotMatch(second.stdout(), /wml?_/)
  const { body } = await second.send('GET', spaces, { key: first.key })
  assert.deepEqual(
    body.data.map(({ name }: { name: string }) => name),
    ['Kept'],
  )
})

test('with BASE_URL, the first start leads to the dashboard there', async (t) => {
  const server = await startServer(t, { ...newDatabase(t).variables, BASE_URL: 'https://links.example.com' })
  await server.said(/^Open the dashboard: https:\/\/links\.example\.com\/app\/sign-in#wml_[\w-]{43} /m)
})

test('a start without any good key says how to issue one', async (t) => {
  const { variables } = newDatabase(t)
  await runHere(['accounts', 'create', '--name', 'Acme'], { variables })
  const server = await startServer(t, variables)
  await server.said(/^No API key is active\. Issue one: npx waymark keys create --name mine$/m)
  assert.equal(server.key, '')
  await server.end('SIGTERM')

  await runHere(['keys', 'create', '--name', 'mine', '--account', '1'], { variables })
  const again = await startServer(t, variables)
  assert.doesNotMatch(again.stdout(), /No API key/)
})

test('a relative DATABASE_URL is relative to the working directory', async (t) => {
  const cwd = newFolder(t)
  await listening(run(t, { PORT: '0', DATABASE_URL: 'sqlite:here/waymark.db' }, { cwd }))
  assert.ok(existsSync(join(cwd, 'here/waymark.db')))
})

test('HOST may be localhost, every IPv4 or every IPv6 address: the curl line works', async (t) => {
  for (const [host, bound, reached] of [
    ['localhost', /http:\/\/(127\.0\.0\.1|\[::1\]):/, /(127\.0\.0\.1|\[::1\]):/],
    ['0.0.0.0', /http:\/\/0\.0\.0\.0:/, / http:\/\/127\.0\.0\.1:/],
    ...(hasIpv6 ? [['::', /http:\/\/\[::\]:/, / http:\/\/\[::1\]:/] as const] : []),
  ] as const) {
    const server = await startServer(t, { ...newDatabase(t).variables, HOST: host })
    assert.match(server.url, bound)
    assert.match(server.stdout(), reached)
    assert.deepEqual((await pasteCurl(server, pathWithCurl(t))).data, [])
    await server.end('SIGTERM')
  }
})

test('BOOTSTRAP_KEY is registered at the first start, and never printed; the sign-in link is, once', async (t) => {
  const key = generateKey()
  const variables = { ...newDatabase(t).variables, BOOTSTRAP_KEY: key }
  const server = await startServer(t, variables)
  assert.equal((await server.send('GET', domains, { key })).status, 200)
  const { stdout } = await server.end('SIGTERM')
  assert.doesNotMatch(stdout, /wm_/)
  assert.match(stdout, /^Open the dashboard: http:\/\/localhost:\d+\/app\/sign-in#wml_[\w-]{43} /m)
  const again = await startServer(t, variables)
  assert.equal((await again.send('GET', domains, { key })).status, 200)
  assert.doesNotMatch((await again.end('SIGTERM')).stdout, /BOOTSTRAP_KEY|wml_/)
})

test('a BOOTSTRAP_KEY that the database does not know is warned of, and not logged', async (t) => {
  const { variables } = newDatabase(t)
  await (await startServer(t, variables)).end('SIGTERM')
  const key = generateKey()
  const server = await startServer(t, { ...variables, BOOTSTRAP_KEY: key })
  await server.said(/"level":40.*waymark keys create/)
  assert.equal((await server.send('GET', domains, { key })).status, 401)
  assert.equal((await server.end('SIGTERM')).stdout.includes(key), false)
})

test('two servers that start at once on one empty database make one key', async (t) => {
  const { variables } = newDatabase(t)
  const servers = await Promise.all([startServer(t, variables), startServer(t, variables)])
  const keys = servers.map(({ key }) => key).filter((key) => key !== '')
  assert.equal(keys.length, 1)
  for (const server of servers) assert.equal((await server.send('GET', spaces, { key: keys[0] ?? '' })).status, 200)
})

test('the command line writes while the server writes', async (t) => {
  const { variables } = newDatabase(t)
  const server = await startServer(t, { ...variables, RATE_LIMIT: '0', LOG_LEVEL: 'warn' })
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
})
