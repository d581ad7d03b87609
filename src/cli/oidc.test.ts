/** `waymark oidc check`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandsWith } from '../../test/command-line.ts'
import { baseUrl, clientId, clientSecret, startProvider } from '../../test/oidc.ts'
import { freePort } from '../../test/processes.ts'
import { repository } from '../../test/scripts.ts'
import { listenOn } from '../../test/servers.ts'

const client = { BASE_URL: baseUrl, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret }

test('prints the issuer, its endpoints and the URLs to register', async (t) => {
  const { issuer } = await startProvider(t)
  const { say, json } = commandsWith({ ...client, OIDC_ISSUER: issuer })
  const text = await say('oidc check')
  assert.match(text, /^Register this redirect URI +https:\/\/links\.example\.com\/app\/oidc\/callback$/m)
  assert.match(text, /^Back-channel logout +supported$/m)
  assert.ok(!text.includes(clientSecret))
  assert.deepEqual(await json('oidc check'), {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    token_endpoint_auth_method: 'client_secret_post',
    userinfo_endpoint: null,
    jwks_uri: `${issuer}/keys`,
    client_secret: 'unknown',
    backchannel_logout: true,
    redirect_uri: `${baseUrl}/app/oidc/callback`,
    logout_uri: `${baseUrl}/app/oidc/logout`,
  })
})

test('says that sessions end after OIDC_SESSION without back-channel logout', async (t) => {
  const provider = await startProvider(t)
  provider.metadata.backchannel_logout_supported = false
  const { say } = commandsWith({ ...client, OIDC_ISSUER: provider.issuer })
  assert.match(await say('oidc check'), /^Back-channel logout +not supported: sessions end after OIDC_SESSION$/m)
})

test('exits with 1 if the provider or the configuration is wrong', async (t) => {
  const { issuer } = await startProvider(t)
  const port = await freePort()
  const fails = (variables: Record<string, string>, message: RegExp) =>
    commandsWith({ ...client, ...variables }).fails('oidc check', 1, message)
  await fails({}, /^OIDC_ISSUER is not set\. /)
  await fails({ OIDC_ISSUER: issuer, BASE_URL: '' }, /^OIDC_ISSUER needs BASE_URL/)
  await fails({ OIDC_ISSUER: `http://127.0.0.1:${port}` }, /can't be used: ECONNREFUSED\.$/)
  await fails(
    { OIDC_ISSUER: 'https://nonsense.invalid' },
    /can't be used: its host was not found \((ENOTFOUND|EAI_AGAIN)\)\.$/,
  )
  await fails({ OIDC_ISSUER: 'nonsense', OIDC_CLIENT_SECRET: '' }, /^OIDC_ISSUER .*\nOIDC_CLIENT_SECRET must be set/)
})

test('reports what the token endpoint says about the client', async (t) => {
  const { issuer, answers, requests } = await startProvider(t)
  const { run } = commandsWith({ ...client, OIDC_ISSUER: issuer })
  const check = async (status: number, error: string) => {
    answers.set('/token', (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    return run('oidc check')
  }
  for (const error of ['invalid_grant', 'invalid_request', 'new_error']) {
    const { code, stdout, stderr } = await check(400, error)
    assert.deepEqual([code, stderr], [0, ''], error)
    assert.match(
      stdout,
      /^Client secret +couldn't be checked: the provider's responses don't show whether it is right$/m,
    )
  }
  const refused = await check(400, 'unauthorized_client')
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^The client can't be used: the client in OIDC_CLIENT_ID may not use the authorization code/,
  )
  const down = await check(503, 'x')
  assert.deepEqual([down.code, down.stdout], [1, ''])
  assert.equal(down.stderr, `The token endpoint ${issuer}/token can't be used: status 503.\n`)
  assert.ok(requests.every((path) => !path.includes(clientSecret)))
})

test('names the issuer of the metadata as the value to set, unless it cannot be one', async (t) => {
  const { issuer, metadata } = await startProvider(t)
  const configured = `${issuer}/realms/acme`
  const { fails } = commandsWith({ ...client, OIDC_ISSUER: configured })
  const start = `The metadata of OIDC_ISSUER ${configured} can't be used: the issuer is`
  for (const named of [issuer, `${configured}/`, `${issuer}/`]) {
    metadata.issuer = named
    await fails('oidc check', 1, `${start} "${named}". If that is your provider, set OIDC_ISSUER=${named}.`)
  }
  for (const named of [`${issuer}/{tenantid}/v2.0`, `${issuer}/a\nb`]) {
    metadata.issuer = named
    await fails('oidc check', 1, `${start} ${JSON.stringify(named)}.`)
  }
})

test('names NODE_EXTRA_CA_CERTS if this machine does not trust the certificate of the provider', async (t) => {
  const read = (name: string) => readFileSync(join(repository, 'test/tls', name))
  for (const [file, reason] of [
    ['server.crt', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['issued.crt', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const) {
    const server = createSecureServer({ key: read('server.key'), cert: read(file) })
    const issuer = `https://127.0.0.1:${await listenOn(t, server)}`
    const remedy = 'Set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority.'
    const problem = `this machine doesn't trust its TLS certificate (${reason}). ${remedy}`
    const { fails } = commandsWith({ ...client, OIDC_ISSUER: issuer })
    await fails('oidc check', 1, `The metadata of OIDC_ISSUER ${issuer} can't be used: ${problem}`)
  }
})
