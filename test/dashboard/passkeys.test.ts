/** Passkeys without an authenticator: options, hostile input, challenges and relying parties. See also `passkeys.browser.test.ts`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isoBase64URL, isoCBOR } from '@simplewebauthn/server/helpers'
import fc from 'fast-check'
import { challengeLifetimeMs, createChallenge, expiryOfChallenge } from '../../src/sign-in/passkeys/challenges.ts'
import { readCredential, registrationTexts } from '../../src/sign-in/passkeys/credential.ts'
import { findRelyingParty } from '../../src/sign-in/passkeys/relying-party.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp } from '../app.ts'
import { Browser, signedIn, signedInMember } from '../dashboard.ts'
import { runs } from '../runs.ts'

const app = await startApp()
const home = '/app/profile/passkeys'
const signIn = '/app/sign-in/passkey'
const base64Url = (text: string) => isoBase64URL.fromUTF8String(text)

test('offers passkeys at localhost or the host of BASE_URL, never at a request’s host', () => {
  for (const [baseUrl, requestUrl, expected] of [
    [null, 'http://localhost:3080', { id: 'localhost', origin: 'http://localhost:3080' }],
    [null, 'http://127.0.0.1:3080', null],
    [null, 'https://evil.example', null],
    [null, 'http://localhost.evil.example', null],
    ['https://links.acme.com', 'http://evil.example', { id: 'links.acme.com', origin: 'https://links.acme.com' }],
    ['https://links.acme.com:8443', '', { id: 'links.acme.com', origin: 'https://links.acme.com:8443' }],
    ['http://links.acme.com', 'http://localhost:3080', null],
    ['https://192.0.2.1', '', null],
    ['https://[2001:db8::1]', '', null],
    ['http://localhost:3080', 'https://evil.example', { id: 'localhost', origin: 'http://localhost:3080' }],
  ] as const) {
    assert.deepEqual(findRelyingParty(baseUrl, requestUrl), expected, `${baseUrl} ${requestUrl}`)
  }
})

test('accepts a challenge only unchanged, for its purpose, with its key and for five minutes', () => {
  const [key, now] = [Buffer.alloc(32, 1), Date.now()]
  const challenge = createChallenge(key, 'sign-in', now)
  const expiryAt = (text: string, purpose = 'sign-in', at = now, own: Uint8Array = key) =>
    expiryOfChallenge(own, text, purpose, at)
  assert.equal(expiryAt(challenge), now + challengeLifetimeMs)
  assert.equal(expiryAt(challenge, 'sign-in', now + challengeLifetimeMs - 1), now + challengeLifetimeMs)
  assert.equal(expiryAt(challenge, 'sign-in', now + challengeLifetimeMs), undefined)
  assert.equal(expiryAt(challenge, 'sign-in 1'), undefined)
  assert.equal(expiryAt(challenge, 'sign-in', now, Buffer.alloc(32, 2)), undefined)
  for (let at = 0; at < challenge.length; at++) {
    const other = challenge[at] === 'A' ? 'B' : 'A'
    assert.equal(expiryAt(challenge.slice(0, at) + other + challenge.slice(at + 1)), undefined, String(at))
  }
  for (const text of ['', `${challenge}=`, `${challenge}A`, challenge.slice(1)]) assert.equal(expiryAt(text), undefined)
})

test('asks for discoverable passkeys with user verification and without attestation', async () => {
  const browser = await signedInMember(app, { name: 'Ana' })
  const { status, headers, body } = await browser.get(`${home}/options`)
  assert.deepEqual([status, headers['content-type']], [200, 'application/json; charset=utf-8'])
  const { challenge, user, ...others } = body
  assert.equal(Buffer.from(user.id, 'base64url').length, 32)
  assert.equal(user.name, 'Ana')
  assert.deepEqual(others, {
    rp: { id: 'localhost', name: 'Waymark' },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
    timeout: challengeLifetimeMs,
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    excludeCredentials: [],
  })
  const { body: first } = await new Browser(app).get(`${signIn}/options`)
  const { body: second } = await new Browser(app).get(`${signIn}/options`)
  assert.notEqual(first.challenge, second.challenge)
  const { challenge: _, ...same } = first
  assert.deepEqual(same, {
    rpId: 'localhost',
    timeout: challengeLifetimeMs,
    userVerification: 'required',
    allowCredentials: [],
  })
})

test('writes nothing for requests without a session', async () => {
  const visitor = new Browser(app)
  for (let n = 0; n < 3; n++) await visitor.get(`${signIn}/options`)
  await visitor.post(signIn, { credential: '{}' })
  assert.deepEqual(await app.storage.execute(query.selectFrom('used_tokens').selectAll()), [])
})

test('gives no options without a session, in a key session, and where browsers allow no passkeys', async () => {
  assert.equal((await new Browser(app).get(`${home}/options`)).status, 303)
  const byKey = await signedIn(app)
  for (const path of [`${home}/options`, `${home}/new`, `${home}/1/remove`]) {
    assert.equal((await byKey.get(path)).status, 403, path)
  }
  assert.equal((await byKey.post(home, { credential: '{}' })).status, 403)
  assert.doesNotMatch((await byKey.open('/app/profile')).text, /Passkeys/)
  const person = await signedInMember(app)
  person.headers.host = `127.0.0.1:${app.port}`
  assert.equal((await person.get(`${home}/options`)).status, 404)
  assert.match((await person.open('/app/profile')).text, /Passkeys work only if the dashboard has a URL with HTTPS/)
  const visitor = new Browser(app)
  visitor.headers.host = `127.0.0.1:${app.port}`
  assert.equal((await visitor.get(`${signIn}/options`)).status, 404)
  assert.equal((await visitor.post(signIn, { credential: '{}' })).status, 422)
  assert.ok(!(await visitor.open('/app/sign-in')).actions.includes(signIn))
})

test('links to BASE_URL at other hosts, and shows no button there', async () => {
  const baseUrl = 'https://dash.example'
  const own = await startApp({ baseUrl })
  const [person, visitor] = [await signedInMember(own), new Browser(own)]
  const link = (path: string, text = 'Passkeys work only at') =>
    `${text} <a href="${baseUrl}${path}">${baseUrl}</a>, with HTTPS.`
  const [token = ''] = /wmi_[\w-]+/.exec((await person.post('/app/people', { role: 'viewer' })).text) ?? []
  const pages = [
    [person, '/app', link(`${home}/new`), 'Add passkey</a>'],
    [person, '/app/profile', link(`${home}/new`), 'Add passkey</a>'],
    [person, `${home}/new`, `<p>${link(`${home}/new`)}`, `action="${home}" class="form needs-script" data-`],
    [
      visitor,
      '/app/sign-in',
      `<p>${link('/app/sign-in?next=%2Fapp')}`,
      `action="${signIn}" class="form needs-script" data-`,
    ],
    [
      visitor,
      '/app/join',
      `<p>${link('/app/join', 'Open the invitation at')}`,
      'action="/app/join" class="form" data-passkey',
    ],
  ] as const
  await visitor.post('/app/join', { token })
  for (const host of ['192.0.2.10:3000', '127.0.0.1:3000', 'other.example', 'dash.example.other.example']) {
    for (const [browser, path, text, button] of pages) {
      browser.headers.host = host
      const page = await browser.get(path)
      assert.deepEqual([page.status, page.text.includes(text), page.text.includes(button)], [200, true, false], path)
    }
  }
  for (const [browser, path, text, button] of pages) {
    browser.headers.host = 'Dash.example:443'
    const page = await browser.get(path)
    assert.deepEqual([page.status, page.text.includes(text), page.text.includes(button)], [200, false, true], path)
  }
})

test('counts failed sign-ins, and rejects forms of other sites', async () => {
  const limited = await startApp({ rateLimit: 1_000 })
  const visitor = new Browser(limited)
  const { status, headers } = await visitor.post(signIn, { credential: '{}' })
  assert.deepEqual([status, headers['x-ratelimit-remaining']], [422, '299'])
  const fromElsewhere = { 'sec-fetch-site': 'cross-site' }
  assert.equal((await visitor.post(signIn, { credential: '{}' }, { headers: fromElsewhere })).status, 403)
})

const text = fc.oneof(fc.string(), fc.base64String(), fc.constantFrom('', 'AA', base64Url('{}'), base64Url('null')))
const texts = fc.record(
  {
    clientDataJSON: fc.oneof(
      text,
      fc.json().map(base64Url),
      fc.json().map((json) => base64Url(`{"challenge":${json}}`)),
    ),
    ...{ attestationObject: text, authenticatorData: text, signature: text, userHandle: text },
    transports: fc.oneof(fc.jsonValue(), fc.array(fc.constantFrom('internal', 'usb', '__proto__'))),
  },
  { requiredKeys: [] },
)
const credentials = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record({ id: fc.oneof(text, fc.jsonValue()), response: fc.oneof(texts, fc.jsonValue()) })
    .map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{"__proto__":{"id":"AA"},"response":{"__proto__":null}}',
    '{"id":"AA","response":{"constructor":{"prototype":1},"toString":1,"clientDataJSON":{"toString":1}}}',
    `${'['.repeat(2_500)}${']'.repeat(2_500)}`,
    `{"id":"${'A'.repeat(2_000)}","response":{}}`,
  ),
)

describe('rejects hostile credentials', () => {
  test('at the sign-in, and when a passkey is added', async () => {
    const [visitor, person] = [new Browser(app), await signedInMember(app)]
    await fc.assert(
      fc.asyncProperty(credentials, async (credential) => {
        for (const [browser, path] of [
          [visitor, signIn],
          [person, home],
        ] as const) {
          const { status, page } = await browser.post(path, { credential })
          assert.equal(status, 422)
          assert.match(page.said.join(), /The passkey couldn’t be verified/)
        }
      }),
      { numRuns: runs(100, 50) },
    )
  })

  test('in large or malformed forms, and in forms that repeat a field', async () => {
    const visitor = new Browser(app)
    const statusOf = async (form: string) => (await visitor.ask('POST', signIn, sentForm(form))).status
    assert.equal(await statusOf(`credential=${'A'.repeat(16 * 1024)}`), 413)
    assert.equal(await statusOf('credential=%ff'), 400)
    assert.equal(await statusOf('credential=%7B%7D&credential=%7B%7D'), 422)
    assert.equal(await statusOf('credential[id]=AA'), 422)
    assert.equal(await statusOf(''), 422)
  })

  test('with an attestation that was not requested', async () => {
    const person = await signedInMember(app)
    const { challenge } = (await person.get(`${home}/options`)).body
    const client = { type: 'webauthn.create', challenge, origin: app.origin }
    for (const [fmt, statement] of [
      ['packed', new Map([['x5c', [new Uint8Array(1)]]])],
      ['android-safetynet', new Map([['response', new Uint8Array(1)]])],
      ['tpm', new Map()],
      [7, new Map()],
      ['none', 'text'],
    ] as const) {
      const attestation = new Map<string, unknown>([
        ['fmt', fmt],
        ['attStmt', statement],
        ['authData', new Uint8Array(37)],
      ])
      const response = {
        clientDataJSON: base64Url(JSON.stringify(client)),
        attestationObject: isoBase64URL.fromBuffer(isoCBOR.encode(attestation as never) as never),
      }
      const { status } = await person.post(home, { credential: JSON.stringify({ id: 'AA', response }) })
      assert.equal(status, 422, String(fmt))
    }
  })
})

function sentForm(form: string) {
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }
  return { headers, body: form }
}

test('reads only the known parts of a credential', () => {
  const clientDataJSON = base64Url('{"challenge":"c","origin":"o"}')
  const response = { clientDataJSON, attestationObject: 'AA', transports: ['usb', 'x', 1, 'ble'], more: 'AA' }
  assert.deepEqual(readCredential(JSON.stringify({ id: 'AA', response, type: 'x' }), registrationTexts), {
    id: 'AA',
    response: { attestationObject: 'AA', clientDataJSON },
    transports: ['ble', 'usb'],
    challenge: 'c',
  })
})
