/** Sign-in and back-channel logout with a real provider of OpenID Connect, `oidc-provider`. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import Provider from 'oidc-provider'
import type { OidcConfig } from '../../src/sign-in/oidc/config.ts'
import { startApp, type TestApp } from '../app.ts'
import { repeatWhileOverloaded, sendRequest } from '../client.ts'
import { commandsWith } from '../command-line.ts'
import { Browser } from '../dashboard.ts'
import { baseUrl, clientId, clientSecret, expectProblem, oidcConfig, startAt } from '../oidc.ts'
import { listenOn } from '../servers.ts'

const ana = { sub: 'ana', name: 'Ana', email: 'ana@acme.example', email_verified: true, groups: ['marketing', 'all'] }

type AuthMethod = 'client_secret_post' | 'client_secret_basic'
type Send = (url: string, request: RequestInit) => Promise<Response>

/** Starts a provider that signs Ana in without a page. It sends its requests with `send`. */
async function startProvider(t: TestContext, send: Send, method: AuthMethod = 'client_secret_post') {
  let provider: Provider
  const interact: RequestListener = async (request, response) => {
    const { prompt, params, session } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: ana.sub } })
    const grant = new provider.Grant({ accountId: session?.accountId, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  }
  const server = createServer((request, response) => {
    const handle = request.url?.startsWith('/interaction/') ? interact : provider.callback()
    return handle(request, response)
  })
  const issuer = `http://127.0.0.1:${await listenOn(t, server)}`
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${baseUrl}/app/oidc/callback`],
        backchannel_logout_uri: `${baseUrl}/app/oidc/logout`,
        backchannel_logout_session_required: true,
        token_endpoint_auth_method: method,
      },
    ],
    clientAuthMethods: [method],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'email', 'groups'],
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ana }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    features: {
      backchannelLogout: { enabled: true },
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context: { body: string }, form: string) => (context.body = form),
      },
    },
    fetch: send,
    cookies: { keys: ['a key of this test'] },
  })
  return issuer
}

/** A browser at the provider, which follows redirects there. */
class Visitor {
  readonly #cookies = new Map<string, string>()

  /** Returns the URL that leaves the provider, or the last page's text. */
  async go(url: string, form?: Readonly<Record<string, string>>): Promise<string> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      this.#cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) return response.text()
    const next = new URL(location, url)
    return next.origin === new URL(url).origin ? this.go(next.href) : next.href
  }
}

async function start(t: TestContext, { method, ...change }: Partial<OidcConfig> & { method?: AuthMethod } = {}) {
  let app: TestApp
  // The provider would not send requests to this machine.
  const send: Send = async (url, { method = 'GET', body }) => {
    const target = { agent: undefined, port: app.port, method, path: String(url).replace(baseUrl, '') }
    const { status } = await repeatWhileOverloaded(() => sendRequest(target, { key: null, form: String(body) }))
    return new Response(null, { status })
  }
  const issuer = await startProvider(t, send, method)
  const roles = new Map([['marketing', 'editor']] as const)
  const oidc = oidcConfig(issuer, { roles, scopes: 'openid profile email groups', ...change })
  app = await startApp({ baseUrl, oidc })
  return { app, issuer }
}

/** Signs in through the provider, and returns the response to the return. */
async function signIn(browser: Browser, visitor: Visitor) {
  const back = new URL(await visitor.go(await startAt(browser)))
  assert.equal(back.origin + back.pathname, `${baseUrl}/app/oidc/callback`)
  return browser.get(back.pathname + back.search)
}

test('signs in, and ends the session when the person signs out at the provider', async (t) => {
  const { app, issuer } = await start(t)
  const [browser, visitor] = [new Browser(app), new Visitor()]
  const answer = await signIn(browser, visitor)
  assert.deepEqual([answer.status, answer.headers.location], [303, '/app'])
  assert.match((await browser.get('/app')).text, /Ana/)
  // The next sign-in asks nothing.
  assert.equal((await signIn(new Browser(app), visitor)).headers.location, '/app')
  const page = await visitor.go(`${issuer}/session/end`)
  const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1] ?? assert.fail(page)
  await visitor.go(`${issuer}/session/end/confirm`, { xsrf, logout: 'yes' })
  assert.match(String((await browser.get('/app')).headers.location), /^\/app\/sign-in/)
})

for (const method of ['client_secret_post', 'client_secret_basic'] as const) {
  test(`names the variables of a rejected client to the operator, with ${method}`, async (t) => {
    const wrong = 'a+wrong/secret%&=:'
    const { app, issuer } = await start(t, { method, clientSecret: wrong })
    const browser = new Browser(app)
    const page = await expectProblem(browser, await signIn(browser, new Visitor()), 'secret_rejected')
    assert.match(page, /rejected the client secret of this server. Ask its administrator/)
    const reason = `the provider rejects OIDC_CLIENT_ID or OIDC_CLIENT_SECRET. Check both, and that the client's authentication method is ${method} (invalid_client)`
    const messages = app.logs.map(({ msg }) => msg)
    assert.ok(messages.includes(`sign-in with OpenID Connect failed: ${reason}`), messages.join('\n'))

    const variables = { BASE_URL: baseUrl, OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId }
    const { run, json } = commandsWith({ ...variables, OIDC_CLIENT_SECRET: clientSecret })
    const { client_secret, token_endpoint_auth_method } = await json('oidc check')
    assert.deepEqual([client_secret, token_endpoint_auth_method], ['accepted', method])
    for (const change of [{ OIDC_CLIENT_SECRET: wrong }, { OIDC_CLIENT_ID: 'other' }]) {
      const said = await run('oidc check', { variables: change })
      assert.deepEqual([said.code, said.stderr], [1, `The client can't be used: ${reason}.\n`])
      assert.match(said.stdout, /^Client secret +rejected$/m)
    }
    for (const text of [wrong, encodeURIComponent(wrong), clientSecret])
      assert.ok(!JSON.stringify([page, app.logs]).includes(text))
  })
}
