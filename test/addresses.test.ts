/** Commands print the server's addresses, whatever the shell's environment is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccount } from '../src/accounts/store.ts'
import { openStorage } from '../src/storage/open.ts'
import { runHere } from './command-line.ts'
import { execute } from './postgres.ts'
import { newDatabase as newPostgres } from './postgres-database.ts'
import { measured, newDatabase, type Variables } from './processes.ts'
import { startServer } from './waymark.ts'

/** Runs a command and returns its output. Fails unless the command succeeds. */
async function say(variables: Variables, line: string): Promise<string> {
  const { code, stdout, stderr } = await runHere(line.split(' '), { variables })
  assert.deepEqual([code, stderr], [0, ''], line)
  return stdout.trimEnd()
}

async function signInPage(variables: Variables): Promise<string> {
  return (await say(variables, 'login-link')).split('#')[0] as string
}

test('commands print the addresses of the server that started last, unless they have their own SHORT_URL and BASE_URL', async (t) => {
  const { variables } = newDatabase(t)
  const first = await startServer(t, { ...variables, SHORT_URL: 'https://{domain}' })
  await first.send('POST', '/api/v1/domains', { form: { name: 'go.acme.com' } })
  assert.equal(await say(variables, 'links create https://acme.com --alias a'), 'https://go.acme.com/a')
  assert.match(await say(variables, 'links list'), / https:\/\/go\.acme\.com\/a /)
  assert.match(await say(variables, 'links show a'), /^short_url +https:\/\/go\.acme\.com\/a$/m)
  assert.equal(await signInPage(variables), `http://localhost:${first.port}/app/sign-in`)
  const own = { ...variables, SHORT_URL: 'http://{domain}:81', BASE_URL: 'https://own.acme.com', PORT: '83' }
  assert.equal(await say(own, 'links create https://acme.com --alias b'), 'http://go.acme.com:81/b')
  assert.equal(await signInPage(own), 'https://own.acme.com/app/sign-in')
  const unset = { ...variables, SHORT_URL: '', BASE_URL: '', PORT: '83', REDIRECT_PORT: '84' }
  assert.equal(await say(unset, 'links create https://acme.com --alias c'), 'https://go.acme.com/c')
  assert.equal(await signInPage(unset), `http://localhost:${first.port}/app/sign-in`)

  const urls = { SHORT_URL: 'http://{domain}:8080', BASE_URL: 'https://links.acme.com' }
  const second = await startServer(t, { ...variables, ...urls })
  await Promise.all([first.end('SIGTERM'), second.end('SIGTERM')])
  assert.equal(await signInPage(variables), 'https://links.acme.com/app/sign-in')
  assert.equal(await say(variables, 'links delete a --yes'), 'The link http://go.acme.com:8080/a was deleted.')
})

test('a server starts on a read-only database, and warns that its addresses are not stored', async (t) => {
  const { drop, ...location } = await newPostgres()
  t.after(drop)
  const { url } = location
  const variables = { DATABASE_URL: url }
  const storage = await openStorage(location)
  await createAccount(storage, 'Acme')
  await storage.close()
  await execute(url, `update instance set base_url = 'https://before.acme.com'`)
  await execute(url, `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`)
  const server = await startServer(t, { ...variables, ...measured(), BASE_URL: 'https://after.acme.com' })
  await server.said(/"level":40,.*"msg":"the URLs of this server could not be stored; /)
  assert.equal((await server.send('GET', '/health')).status, 503)
  assert.equal((await server.end('SIGTERM')).code, 0)
  assert.deepEqual(await execute(url, 'select base_url from instance'), [{ base_url: 'https://before.acme.com' }])
})
