import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { newPlace } from '../../test/command-line.ts'
import { listenOn } from '../../test/servers.ts'
import { storeInstanceUrls } from '../instance/store.ts'
import { findSession, signInByToken } from '../sessions/store.ts'

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`prints a link that signs in to the only account once: ${engine}`, async (t) => {
    const { storage, run } = await newPlace(t, engine)
    const { code, stdout } = await run('login-link')
    assert.equal(code, 0)
    const [, token = ''] = /^http:\/\/localhost:3000\/app\/sign-in#(wml_[\w-]{43})\n$/.exec(stdout) ?? []
    const secret = await signInByToken(storage, token, 'x')
    assert.equal((await findSession(storage, String(secret)))?.account.id, 1)
    assert.equal(await signInByToken(storage, token, 'x'), undefined)
  })
}

test('--json prints the URL, the account and the expiration in 30 minutes', async (t) => {
  const { storage, run } = await newPlace(t, 'sqlite', ['Acme', 'Other'])
  const before = Date.now()
  const printed = JSON.parse((await run('login-link --account 2 --json')).stdout)
  const after = Date.now()
  const { url, account_id, expires_at, ...more } = printed
  assert.deepEqual([account_id, more], [2, { member_id: 1 }])
  const madeAt = Date.parse(expires_at) - 30 * 60_000
  assert.ok(madeAt >= before && madeAt <= after)
  const token = new URL(url).hash.slice(1)
  assert.equal(await signInByToken(storage, token, 'x', madeAt + 30 * 60_000), undefined)
  const secret = await signInByToken(storage, token, 'x', madeAt + 30 * 60_000 - 1)
  assert.equal((await findSession(storage, String(secret)))?.account.id, 2)
})

test('creates the owner of an account that has none, once', async (t) => {
  const { storage, run } = await newPlace(t)
  const members: unknown[] = []
  for (let round = 0; round < 2; round++) {
    const { stdout } = await run('login-link')
    const secret = await signInByToken(storage, stdout.trim().replace(/^.*#/, ''), 'x')
    members.push((await findSession(storage, String(secret)))?.member)
  }
  const owner = { id: 1, name: 'Owner', role: 'owner', person: { id: 1, timeZone: null, hasOtherAccounts: false } }
  assert.deepEqual(members, [owner, owner])
})

test('the URL starts with BASE_URL, or with HOST and PORT', async (t) => {
  const { run } = await newPlace(t)
  for (const [variables, base] of [
    [{ BASE_URL: 'https://links.example.com/', PORT: '0' }, 'https://links.example.com'],
    [{ PORT: '8080', HOST: '0.0.0.0' }, 'http://localhost:8080'],
    [{ HOST: '::' }, 'http://localhost:3000'],
    [{ HOST: '192.0.2.1' }, 'http://192.0.2.1:3000'],
    [{ HOST: '[2001:db8::1]' }, 'http://[2001:db8::1]:3000'],
  ] as const) {
    const { stdout } = await run('login-link', { variables })
    assert.equal(stdout.split('#')[0], `${base}/app/sign-in`)
  }
})

test('returns 1 or 2 without an account, for unknown and several accounts, and for an unknown port', async (t) => {
  const empty = await newPlace(t, 'sqlite', [])
  const none = 'The database has no accounts yet. Create one with "npx waymark accounts create --name NAME".'
  await empty.fails('login-link', 1, none)
  const { say, fails } = await newPlace(t)
  for (const [line, message, variables] of [
    ['--account 7', 'Account 7 doesn\'t exist. To see all accounts, run "npx waymark accounts list".', {}],
    [
      '',
      'With PORT=0, the server uses any free port. Start it once, or set BASE_URL to the URL of the dashboard.',
      { PORT: '0' },
    ],
    ['', 'PORT must be an integer from 0 to 65535, not "x".', { PORT: 'x' }],
  ] as const) {
    await fails(`login-link ${line}`, 1, message, { variables })
  }
  await say('accounts create --name Other')
  await fails('login-link', 2, /^The database has several accounts\. Choose one with --account ID\. /)
})

test('says on stderr that nothing listens, and prints nothing there if a server does', async (t) => {
  const { storage, run } = await newPlace(t)
  const server = createServer()
  const port = await listenOn(t, server)
  await storeInstanceUrls(storage, { short_url: 'https://{domain}', base_url: `http://localhost:${port}` })
  assert.equal((await run('login-link')).stderr, '')
  server.close()
  const { code, stderr } = await run('login-link')
  assert.equal(code, 0)
  assert.equal(stderr, `Nothing is listening on http://localhost:${port}. Start the server before you open the link.\n`)
})
