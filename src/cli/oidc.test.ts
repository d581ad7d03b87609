/** `waymark oidc check`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { commandsWith } from '../../test/command-line.ts'
import { baseUrl, clientId, clientSecret, startProvider } from '../../test/oidc.ts'

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
    userinfo_endpoint: null,
    jwks_uri: `${issuer}/keys`,
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
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  const fails = (variables: Record<string, string>, message: RegExp) =>
    commandsWith({ ...client, ...variables }).fails('oidc check', 1, message)
  await fails({}, /^OIDC_ISSUER is not set\. /)
  await fails({ OIDC_ISSUER: issuer, BASE_URL: '' }, /^OIDC_ISSUER needs BASE_URL/)
  await fails({ OIDC_ISSUER: `${issuer}/` }, /can't be used: the issuer is "http:\/\/127\.0\.0\.1:\d+"\.$/)
  await fails({ OIDC_ISSUER: `http://127.0.0.1:${port}` }, /can't be used: ECONNREFUSED\.$/)
})
