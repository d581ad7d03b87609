/** Uses each thread, child process and built file of a running server, none of which may be missing in an installation. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { isoBase64URL, isoCBOR } from '@simplewebauthn/server/helpers'
import { Browser } from './dashboard.ts'
import { eventually, type RunningServer } from './processes.ts'

/** The server has the domain `localhost` with id 1 and no other, and no link. `visit` requests a path of its redirect server. */
export async function checkThreads(server: RunningServer, visit: (path: string) => Promise<unknown>): Promise<void> {
  const send = async (method: string, path: string, request = {}) => {
    const { status, text, body } = await server.send(method, `/api/v1/${path}`, request)
    assert.ok(status < 300, `${path}: ${text}`)
    return body.data
  }
  await send('POST', 'links/bulk', {
    json: { links: [{ alias: 'sale', url: 'https://acme.com/sale' }] },
  })
  const [link] = await send('GET', 'links')
  const headers = { 'content-type': 'text/csv' }
  await send('POST', 'imports', { body: 'url,short_url\nhttps://acme.com/,localhost/moved\n', headers })
  await visit('/sale')
  await eventually(async () => (await send('GET', `links/${link.id}`)).clicks === 1)
  await eventually(async () => (await send('GET', 'links?search=acme')).length === 1)
  await checkLogo(await new Browser(server).signIn(server.key), link.id)
  const [token = ''] = /wml_[\w-]+/.exec(server.stderr()) ?? []
  const person = new Browser(server)
  assert.equal((await person.post('/app/sign-in', { token })).status, 303)
  await checkPasskey(person, server.port)
  await checkFiles(server)
}

/** A process reads the file. */
async function checkLogo(browser: Browser, link: number): Promise<void> {
  const form = new FormData()
  for (const [name, value] of Object.entries({ dark: '#000000', background: '#ffffff', margin: '4' }))
    form.append(name, value)
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>'
  form.append('logo', new File([svg], 'logo.svg'))
  assert.equal((await browser.postFiles('/app/domains/1/qr', form)).status, 303)
  assert.match((await browser.get(`/app/links/${link}/qr`)).text, /<image /)
}

/** Adds a passkey, as an authenticator without attestation does. */
async function checkPasskey(person: Browser, port: number): Promise<void> {
  const home = '/app/profile/passkeys'
  const { challenge } = (await person.get(`${home}/options`)).body
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  // An EdDSA key on Ed25519 (RFC 9053).
  const key = new Map<number, unknown>([
    [1, 1],
    [3, -8],
    [-1, 6],
    [-2, isoBase64URL.toBuffer(x)],
  ])
  const id = Buffer.alloc(16, 7)
  const publicKey = isoCBOR.encode(key as never) as Uint8Array
  // The hash of the host, the flags (user present and verified, with a credential), a counter, and the credential.
  const head = Buffer.from([0x45, 0, 0, 0, 0, ...Buffer.alloc(16), 0, id.length])
  const authData = Buffer.concat([hash('sha256', 'localhost', 'buffer'), head, id, publicKey])
  const attestation = new Map<string, unknown>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', new Uint8Array(authData)],
  ])
  const client = { type: 'webauthn.create', challenge, origin: `http://localhost:${port}` }
  const response = {
    clientDataJSON: isoBase64URL.fromUTF8String(JSON.stringify(client)),
    attestationObject: isoBase64URL.fromBuffer(isoCBOR.encode(attestation as never) as never),
  }
  const credential = JSON.stringify({ id: id.toString('base64url'), response })
  assert.equal((await person.post(home, { credential })).status, 303)
}

/** Every page of the documents and of the dashboard that is linked here, with their styles, scripts and images. */
async function checkFiles(server: RunningServer): Promise<void> {
  const open = async (path: string) => {
    const { status, text } = await server.send('GET', path)
    assert.equal(status, 200, path)
    return text
  }
  for (const path of ['/docs', '/docs/dashboard', '/problems/not_found', '/app/sign-in', '/openapi.json']) {
    const text = await open(path)
    for (const [, file = ''] of text.matchAll(/(?:href|src)="(\/[^"]+\.(?:css|js|svg))"/g)) await open(file)
  }
}
