/** The variables of OpenID Connect. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartupFailure } from '../errors.ts'
import { readConfig } from './config.ts'

const required = {
  BASE_URL: 'https://links.example.com',
  OIDC_ISSUER: 'https://login.example.com/realms/acme/',
  OIDC_CLIENT_ID: 'waymark',
  OIDC_CLIENT_SECRET: 'hunter2',
}

test('needs only an issuer, a client and BASE_URL', () => {
  assert.deepEqual(readConfig(required).oidc, {
    issuer: 'https://login.example.com/realms/acme/',
    clientId: 'waymark',
    clientSecret: 'hunter2',
    baseUrl: 'https://links.example.com',
    name: 'login.example.com',
    scopes: 'openid profile email',
    roleClaim: 'groups',
    roles: new Map(),
    account: null,
    sessionLifetimeMs: 12 * 60 * 60 * 1_000,
  })
})

test('reads every variable', () => {
  const { oidc } = readConfig({
    ...required,
    OIDC_NAME: 'Acme login',
    OIDC_SCOPES: 'openid email groups',
    OIDC_ROLE_CLAIM: 'https://acme.example/roles',
    OIDC_ROLES: 'links-admins=owner, CN=Print = editor,/all/staff=viewer',
    OIDC_ACCOUNT: '2',
    OIDC_SESSION: '30m',
  })
  assert.partialDeepStrictEqual(oidc, {
    name: 'Acme login',
    scopes: 'openid email groups',
    roleClaim: 'https://acme.example/roles',
    account: 2,
    sessionLifetimeMs: 30 * 60 * 1_000,
  })
  assert.deepEqual(
    [...(oidc?.roles ?? [])],
    Object.entries({ 'links-admins': 'owner', 'CN=Print': 'editor', '/all/staff': 'viewer' }),
  )
})

const bad: [change: Readonly<Record<string, string>>, error: RegExp][] = [
  [{ BASE_URL: '' }, /^OIDC_ISSUER needs BASE_URL, /],
  [{ BASE_URL: 'x' }, /^BASE_URL must be /],
  [{ OIDC_CLIENT_ID: '' }, /^OIDC_CLIENT_ID must be set, because OIDC_ISSUER is set\.$/],
  [{ OIDC_CLIENT_SECRET: '' }, /^OIDC_CLIENT_SECRET must be set, because OIDC_ISSUER is set\.$/],
  [{ OIDC_ISSUER: 'login.example.com' }, /^OIDC_ISSUER must be the https URL of the issuer, exactly as /],
  [{ OIDC_ISSUER: 'http://login.example.com' }, /^OIDC_ISSUER must be /],
  [{ OIDC_ISSUER: 'https://a.example/.well-known/openid-configuration' }, /^OIDC_ISSUER must be /],
  [{ OIDC_ISSUER: 'https://u:hunter2@a.example' }, /^OIDC_ISSUER must be /],
  [{ OIDC_NAME: 'x'.repeat(61) }, /^OIDC_NAME must have at most 60 characters\.$/],
  [{ OIDC_SCOPES: 'profile email' }, /^OIDC_SCOPES must be scopes .* including openid, /],
  [{ OIDC_ROLE_CLAIM: 'a\u0000b' }, /^OIDC_ROLE_CLAIM must be the name of a claim, /],
  [{ OIDC_ROLES: 'admins=root' }, /^OIDC_ROLES must give each value of the claim one of the roles viewer, /],
  [{ OIDC_ROLES: 'a=owner,a=viewer' }, /^OIDC_ROLES must /],
  [{ OIDC_ROLES: 'a=owner,' }, /^OIDC_ROLES must /],
  [{ OIDC_ACCOUNT: 'Acme' }, /^OIDC_ACCOUNT must be an account ID, /],
  [{ OIDC_SESSION: '0s' }, /^OIDC_SESSION must be a duration such as 30m, /],
]

for (const [change, expected] of bad) {
  test(`rejects ${JSON.stringify(change).slice(0, 60)}`, () => {
    assert.throws(
      () => readConfig({ ...required, ...change }),
      (error: unknown) => {
        assert.ok(error instanceof StartupFailure)
        assert.match(error.message, expected)
        assert.doesNotMatch(error.message, /hunter2|\n/)
        return true
      },
    )
  })
}

test('allows an issuer without TLS only on this machine', () => {
  for (const issuer of ['http://localhost:8080/realms/a', 'http://127.0.0.1:8080', 'http://[::1]:8080'])
    assert.equal(readConfig({ ...required, OIDC_ISSUER: issuer }).oidc?.issuer, issuer)
})

test('ignores the other variables without an issuer, and warns of misspelled ones', () => {
  const { oidc, warnings } = readConfig({ OIDC_CLIENT_ID: 'waymark', OIDC_GROUPS: 'x' })
  assert.equal(oidc, null)
  assert.equal(warnings.length, 1)
})
