/** A provider of OpenID Connect that does whatever a test wants, and browsers that sign in with it. */
import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { OidcClient } from '../src/sign-in/oidc/client.ts'
import type { OidcConfig } from '../src/sign-in/oidc/config.ts'
import { type Problem, serverProblems } from '../src/sign-in/oidc/problems.ts'
import { type StartOptions, startApp, type TestApp } from './app.ts'
import { Browser, type Visited } from './dashboard.ts'
import { listenOn } from './servers.ts'

export const baseUrl = 'https://links.example.com'
export const clientId = 'waymark'
export const clientSecret = 'the-secret-of-the-client'

export type TestClaims = Readonly<Record<string, unknown>>

/** A claim with this value is left out. */
type Change = (token: { claims: Record<string, unknown>; header: Record<string, unknown> }) => void

interface Code {
  readonly nonce: string
  readonly challenge: string
  readonly claims: TestClaims
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface FakeProvider {
  readonly issuer: string
  /** The paths of all requests. */
  readonly requests: string[]
  /** Members of the metadata that replace the usual ones. */
  readonly metadata: Record<string, unknown>
  /** Answers instead of the usual ones, by path. */
  readonly answers: Map<string, Answer>
  /** Changes an ID token before it is signed. */
  change: Change
  /** Signs with this key instead of the published one. */
  key: CryptoKey
  /** Claims of the userinfo endpoint. */
  userinfo: TestClaims | null
  /** Publishes a new key in place of the old one. */
  rotate(): Promise<void>
  /** Signs a person in who was sent here, and returns the path of the dashboard that they are sent back to. */
  authorize(location: string, claims: TestClaims): string
  /** Returns a signed logout token. A claim that is undefined is left out. */
  logoutToken(claims: TestClaims): Promise<string>
}

/** Starts a provider, which stops after the test. */
export async function startProvider(t: Pick<TestContext, 'after'>): Promise<FakeProvider> {
  const codes = new Map<string, Code>()
  const server = createServer((request, response) => void respond(request, response))
  const issuer = `http://127.0.0.1:${await listenOn(t, server)}`
  let published: { readonly kid: string; readonly jwk: object }

  const provider: FakeProvider = {
    issuer,
    requests: [],
    metadata: {},
    answers: new Map(),
    change: () => {},
    key: undefined as never,
    userinfo: null,
    rotate: async () => {
      const { publicKey, privateKey } = await generateKeyPair('ES256')
      provider.key = privateKey
      published = { kid: randomUUID(), jwk: await exportJWK(publicKey) }
    },
    authorize: (location, claims) => {
      const query = new URL(location).searchParams
      const text = (name: string) => query.get(name) ?? assert.fail(`${location} has no ${name}`)
      assert.deepEqual([text('client_id'), text('response_type'), text('response_mode')], [clientId, 'code', 'query'])
      assert.deepEqual([text('code_challenge_method'), text('redirect_uri')], ['S256', `${baseUrl}/app/oidc/callback`])
      const code = randomUUID()
      codes.set(code, { nonce: text('nonce'), challenge: text('code_challenge'), claims })
      return `/app/oidc/callback?${new URLSearchParams({ code, state: text('state'), iss: issuer })}`
    },
    logoutToken: (claims) => {
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      const iat = Math.floor(Date.now() / 1_000)
      return sign({ iss: issuer, aud: clientId, iat, exp: iat + 120, jti: randomUUID(), events, ...claims }, {})
    },
  }

  function sign(claims: TestClaims, header: TestClaims): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: published.kid, ...header }).sign(provider.key)
  }

  async function tokens(request: IncomingMessage): Promise<object | null> {
    const form = new URLSearchParams((await request.toArray()).join(''))
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url')
    if (code === undefined || form.get('client_secret') !== clientSecret || challenge !== code.challenge) return null
    const iat = Math.floor(Date.now() / 1_000)
    const token = {
      claims: { iss: issuer, aud: clientId, iat, exp: iat + 60, nonce: code.nonce, ...code.claims },
      header: {},
    }
    provider.change(token)
    const isUnsigned = 'alg' in token.header && token.header.alg === 'none'
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = `${part(token.header)}.${part(token.claims)}.`
    const id_token = isUnsigned ? unsigned : await sign(token.claims, token.header)
    return { access_token: 'the-access-token', token_type: 'Bearer', id_token }
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request
    provider.requests.push(url)
    const special = provider.answers.get(url)
    if (special !== undefined) return special(request, response)
    const body = await bodyFor(request)
    response.writeHead(body === null ? 400 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? { error: 'invalid_grant', error_description: '<b>provider text</b>' }))
  }

  async function bodyFor(request: IncomingMessage): Promise<object | null> {
    if (request.url === '/keys') return { keys: [{ ...published.jwk, kid: published.kid, alg: 'ES256', use: 'sig' }] }
    if (request.url === '/userinfo') return provider.userinfo
    if (request.url === '/token') return tokens(request)
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      ...(provider.userinfo !== null && { userinfo_endpoint: `${issuer}/userinfo` }),
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      authorization_response_iss_parameter_supported: true,
      backchannel_logout_supported: true,
      ...provider.metadata,
    }
  }

  await provider.rotate()
  return provider
}

/** Returns the configuration of a client of the provider. */
export function oidcConfig(issuer: string, change: Partial<OidcConfig> = {}): OidcConfig {
  return {
    ...{ issuer, clientId, clientSecret, baseUrl, name: 'Acme login', scopes: 'openid profile email' },
    ...{ roleClaim: 'groups', roles: new Map(), account: null, sessionLifetimeMs: 12 * 60 * 60 * 1_000 },
    ...change,
  }
}

/** An app and a provider that it trusts. */
export async function startSignIn(
  t: Pick<TestContext, 'after'>,
  change: Partial<OidcConfig> = {},
  options: StartOptions = {},
): Promise<{ readonly app: TestApp; readonly provider: FakeProvider }> {
  const provider = await startProvider(t)
  const app = await startApp({ baseUrl, oidc: oidcConfig(provider.issuer, change), ...options })
  return { app, provider }
}

/** Starts a sign-in, and returns where the browser is sent. `query` belongs to the start. */
export async function startAt(browser: Browser, query = ''): Promise<string> {
  const { status, headers, text } = await browser.get(`/app/sign-in/oidc${query}`, { headers: sameOrigin })
  assert.equal(status, 302, text)
  return String(headers.location)
}

/** What a browser sends if a link on a page of the dashboard was followed. */
export const sameOrigin = { 'sec-fetch-site': 'same-origin' }

/** Signs a person in, and returns the response to their return. */
export async function arrive(
  browser: Browser,
  provider: FakeProvider,
  claims: TestClaims,
  query = '',
): Promise<Visited> {
  return browser.get(provider.authorize(await startAt(browser, query), claims))
}

/** Returns a browser that is signed in with these claims. */
export async function signedInWith(app: TestApp, provider: FakeProvider, claims: TestClaims): Promise<Browser> {
  const browser = new Browser(app)
  const { status, headers } = await arrive(browser, provider, claims)
  assert.deepEqual([status, headers.location], [303, '/app'])
  return browser
}

/** Throws unless the response opens the page of this problem. Returns the text of that page. */
export async function expectProblem(browser: Browser, answer: Visited, code: string): Promise<string> {
  assert.deepEqual([answer.status, answer.headers.location], [303, `/app/oidc/problem?code=${code}`])
  const { status, text } = await browser.follow(answer)
  assert.equal(status, serverProblems.includes(code as Problem) ? 503 : 403)
  return text
}

export function newClient(provider: FakeProvider, timeoutMs = 10_000): OidcClient {
  return new OidcClient(oidcConfig(provider.issuer), { timeoutMs })
}
