import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../test/processes.ts'
import { listenOn, tls, trustCertificate } from '../../test/servers.ts'
import { probe } from './checks.ts'

const fingerprint = 'n3vaDcnoPlRmZQxY1sWu0k'
const path = '/.well-known/waymark'
const tell: RequestListener = (_, response) => void response.end(`${fingerprint}\n`)

const serve = (t: TestContext, listener: RequestListener) => listenOn(t, createServer(listener), 'localhost')
const serveTls = (t: TestContext, listener: RequestListener) =>
  listenOn(t, createSecureServer(tls, listener), 'localhost')

function ask(url: string, { timeoutMs = 10_000, httpsPort = 443 } = {}) {
  return probe(url, fingerprint, { timeoutMs, httpsPort })
}

test('returns "here" for the fingerprint, after one request without cookies', async (t) => {
  const asked: unknown[] = []
  const port = await serve(t, (request, response) => {
    const { 'user-agent': agent, cookie, 'accept-encoding': coding } = request.headers
    asked.push([request.method, request.url, agent, cookie, coding])
    response.setHeader('set-cookie', 'a=1').end(`${fingerprint}\n`)
  })
  for (const answer of ['here', 'here']) assert.equal(await ask(`http://localhost:${port}${path}`), answer)
  const once = ['GET', path, 'Waymark', undefined, 'identity']
  assert.deepEqual(asked, [once, once])
})

test('returns "elsewhere" for any other response', async (t) => {
  for (const listener of [
    (_, response) => void response.writeHead(404).end(fingerprint),
    (_, response) => void response.end('another'),
    (_, response) => void response.end(),
    (_, response) => void response.writeHead(204).end(),
  ] as const satisfies RequestListener[]) {
    assert.equal(await ask(`http://localhost:${await serve(t, listener)}${path}`), 'elsewhere')
  }
})

for (const status of [200, 500]) {
  test(`stops reading an endless body of a ${status}`, async (t) => {
    const closed = Promise.withResolvers<void>()
    const port = await serve(t, (_, response) => {
      response.on('close', closed.resolve).writeHead(status)
      const more = () => void (response.write('a'.repeat(500)) && setImmediate(more))
      response.on('drain', more)
      more()
    })
    assert.equal(await ask(`http://localhost:${port}${path}`), 'elsewhere')
    await closed.promise
  })
}

test('follows one redirect to the same path over HTTPS', async (t) => {
  trustCertificate(t)
  const trusted = await serveTls(t, tell)
  const redirecting = async (location: string) =>
    `http://localhost:${await serve(t, (_, response) => void response.writeHead(308, { location }).end('moved'))}${path}`
  assert.equal(await ask(await redirecting(`https://localhost:${trusted}${path}?a=1`), { httpsPort: trusted }), 'here')
  const twice = await serveTls(t, (_, response) => void response.writeHead(301, { location: path }).end())
  assert.equal(await ask(await redirecting(`https://localhost:${twice}${path}`), { httpsPort: twice }), 'elsewhere')
})

test('follows no other redirect', async (t) => {
  trustCertificate(t)
  let followed = 0
  const count: RequestListener = (request, response) => {
    followed += 1
    tell(request, response)
  }
  const [plain, secure] = [await serve(t, count), await serveTls(t, count)]
  for (const [location, httpsPort] of [
    [`http://localhost:${plain}${path}`, secure],
    [`https://127.0.0.1:${secure}${path}`, secure],
    [`https://localhost:${secure}/other`, secure],
    [`https://localhost:${secure}${path}`, 443],
    [`https://localhost${path}`, secure],
    ['https://', secure],
    ['', secure],
  ] as const) {
    const port = await serve(t, (_, response) => void response.writeHead(301, { location }).end())
    assert.equal(await ask(`http://localhost:${port}${path}`, { httpsPort }), 'elsewhere', location)
  }
  const back = await serveTls(t, (_, response) => void response.writeHead(301, { location: path }).end())
  assert.equal(await ask(`https://localhost:${back}${path}`, { httpsPort: back }), 'elsewhere')
  assert.equal(followed, 0)
})

test('returns "no answer" without a response in HTTP', async (t) => {
  assert.equal(await ask(`http://localhost:${await freePort()}${path}`), 'no answer')
  const silent = createServer(() => undefined)
  const stalled = createServer((_, response) => void response.write(fingerprint))
  for (const server of [silent, stalled]) {
    const port = await listenOn(t, server, 'localhost')
    assert.equal(await ask(`http://localhost:${port}${path}`, { timeoutMs: 100 }), 'no answer')
  }
  for (const words of [
    'SSH-2.0-rude\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n',
  ]) {
    const rude = createTcpServer((socket) => void socket.on('error', () => undefined).write(words))
    assert.equal(await ask(`http://localhost:${await listenOn(t, rude, 'localhost')}${path}`), 'no answer', words)
  }
})

/** Starts a server that sends `first`, and then `more` until the client leaves. */
async function flood(t: TestContext, first: string, more: string): Promise<{ url: string; left: Promise<void> }> {
  const left = Promise.withResolvers<void>()
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).on('close', () => left.resolve())
    const send = () => void (socket.write(more) && setImmediate(send))
    socket.on('drain', send).write(first)
    send()
  })
  return { url: `http://localhost:${await listenOn(t, server, 'localhost')}${path}`, left: left.promise }
}

test('stops reading endless interim responses, headers and chunk extensions', async (t) => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
  for (const [first, more] of [
    ['', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(99)],
    ['', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(99)],
    ['HTTP/1.1 200 OK\r\n', 'X-A: a\r\n'.repeat(999)],
    [`${chunked}1;`, 'a'.repeat(9_999)],
  ] as const) {
    const { url, left } = await flood(t, first, more)
    assert.equal(await ask(url, { timeoutMs: 600_000 }), 'no answer', first + more.slice(0, 30))
    await left
  }
})

test('returns "here" after an interim response', async (t) => {
  const port = await serve(t, (request, response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' })
    tell(request, response)
  })
  assert.equal(await ask(`http://localhost:${port}${path}`), 'here')
})

test('returns "certificate error" without valid TLS, even after a redirect', async (t) => {
  const secure = await serveTls(t, tell)
  const url = `https://localhost:${secure}${path}`
  assert.equal(await ask(url), 'certificate error')
  const port = await serve(t, (_, response) => void response.writeHead(301, { location: url }).end())
  assert.equal(await ask(`http://localhost:${port}${path}`, { httpsPort: secure }), 'certificate error')
  assert.equal(await ask(`https://localhost:${port}${path}`), 'certificate error')
})
