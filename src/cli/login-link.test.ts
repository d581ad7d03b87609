import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { newPlace } from '../../test/command-line.ts'
import type { Variables } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import { storeAddresses } from '../instance/store.ts'
import { listSessions, signInByToken } from '../sessions/store.ts'

/** Creates a database with these accounts. */
async function placeWith(t: TestContext, names: readonly string[], engine?: 'postgres') {
  const { storage, run: runAny } = await newPlace(t, engine)
  for (const name of names) await createAccount(storage, name)
  const run = (args: readonly string[], variables: Variables = {}) => runAny(['login-link', ...args], { variables })
  return { storage, run }
}

for (const engine of [undefined, 'postgres'] as const) {
  test(`prints a link that signs in to the only account once: ${engine ?? 'sqlite'}`, async (t) => {
    const { storage, run } = await placeWith(t, ['Acme'], engine)
    const { code, stdout } = await run([])
    assert.equal(code, 0)
    const [, token = ''] = /^http:\/\/localhost:3000\/app\/sign-in#(wml_[\w-]{43})\n$/.exec(stdout) ?? []
    assert.equal((await signInByToken(storage, token, 'x'))?.account_id, 1)
    assert.equal(await signInByToken(storage, token, 'x'), undefined)
  })
}

test('--json prints the URL, the account and the expiration in 30 minutes', async (t) => {
  const { storage, run } = await placeWith(t, ['Acme', 'Other'])
  const before = Date.now()
  const { url, account_id, expires_at, ...more } = JSON.parse((await run(['--account', '2', '--json'])).stdout)
  const after = Date.now()
  assert.deepEqual([account_id, more], [2, {}])
  const madeAt = Date.parse(expires_at) - 30 * 60_000
  assert.ok(madeAt >= before && madeAt <= after)
  const token = new URL(url).hash.slice(1)
  assert.equal(await signInByToken(storage, token, 'x', madeAt + 30 * 60_000), undefined)
  assert.equal((await signInByToken(storage, token, 'x', madeAt + 30 * 60_000 - 1))?.account_id, 2)
})

test('--name names the session, trimmed and in NFC', async (t) => {
  const { storage, run } = await placeWith(t, ['Acme'])
  const { stdout } = await run(['--name', ' A\u0301na '])
  await signInByToken(storage, stdout.trim().replace(/^.*#/, ''), 'x')
  assert.deepEqual(
    (await listSessions(storage, 1)).map(({ name }) => name),
    ['Ána'],
  )
  for (const name of ['', ' ', 'x'.repeat(256), 'a\u0007']) {
    const { code, stderr } = await run(['--name', name])
    assert.equal(code, 2)
    assert.match(stderr, /^--name must have 1 to 255 characters, and no control characters\./)
  }
})

for (const [variables, base] of [
  [{ BASE_URL: 'https://links.example.com/', PORT: '0' }, 'https://links.example.com'],
  [{ PORT: '8080', HOST: '0.0.0.0' }, 'http://localhost:8080'],
  [{ HOST: '::' }, 'http://localhost:3000'],
  [{ HOST: '192.0.2.1' }, 'http://192.0.2.1:3000'],
  [{ HOST: '[2001:db8::1]' }, 'http://[2001:db8::1]:3000'],
] as const) {
  test(`the URL starts with ${base}: ${JSON.stringify(variables)}`, async (t) => {
    const { run } = await placeWith(t, ['Acme'])
    const { stdout } = await run([], variables)
    assert.equal(stdout.split('#')[0], `${base}/app/sign-in`)
  })
}

test('returns 1 without an account, for an unknown account and for an unknown port', async (t) => {
  const empty = await placeWith(t, [])
  const unknown = await placeWith(t, ['Acme'])
  for (const [said, sentence] of [
    [
      await empty.run([]),
      'The database has no accounts yet. Create one with "npx waymark accounts create --name NAME".',
    ],
    [
      await unknown.run(['--account', '7']),
      'Account 7 doesn\'t exist. To see all accounts, run "npx waymark accounts list".',
    ],
    [
      await unknown.run([], { PORT: '0' }),
      'With PORT=0, the server uses any free port. Start it once, or set BASE_URL to the URL of the dashboard.',
    ],
    [await unknown.run([], { PORT: 'x' }), 'PORT must be an integer from 0 to 65535, not "x".'],
  ] as const) {
    assert.deepEqual(said, { code: 1, stdout: '', stderr: `${sentence}\n` })
  }
})

test('returns 2 if there are several accounts', async (t) => {
  const { run } = await placeWith(t, ['Acme', 'Other'])
  const { code, stdout, stderr } = await run([])
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(
    stderr,
    /^The database has several accounts\. Choose one with --account ID\.[^\n]*\n\nUsage: npx waymark login-link \[--account ID\] \[--name NAME\] \[--json\]\n/,
  )
})

test('says on stderr that nothing listens, and prints nothing there if a server does', async (t) => {
  const { storage, run } = await placeWith(t, ['Acme'])
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await storeAddresses(storage, { short_url: 'https://{domain}', base_url: `http://localhost:${port}` })
  assert.equal((await run([])).stderr, '')
  server.close()
  const { code, stderr } = await run([])
  assert.equal(code, 0)
  assert.equal(stderr, `Nothing is listening on http://localhost:${port}. Start the server before you open the link.\n`)
})
