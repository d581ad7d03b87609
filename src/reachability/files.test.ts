/** Checks of the files of a domain over HTTPS. */
import assert from 'node:assert/strict'
import { createServer as createPlainServer, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import { startDns } from '../../test/dns-server.ts'
import { freePort } from '../../test/processes.ts'
import { listenOn, tls, trustCertificate } from '../../test/servers.ts'
import { DomainChecks, probeFile } from './checks.ts'

const path = '.well-known/assetlinks.json'
const content = '[{"include":"https://acme.com/ü.json"}]'
const json = { 'content-type': 'application/json' }
const patient = 10_000
const silent: RequestListener = () => undefined

/** Serves HTTPS with a certificate that is trusted until the test ends. */
function serve(t: TestContext, listener: RequestListener): Promise<number> {
  trustCertificate(t)
  return listenOn(t, createServer(tls, listener), 'localhost')
}

const ask = (port: number, { file = content, timeoutMs = patient } = {}) =>
  probeFile(`https://localhost:${port}/${path}`, file, { timeoutMs, httpsPort: port })

test('returns "served" for the same bytes as JSON, otherwise the first difference', async (t) => {
  for (const [result, answer] of [
    ['served', (_, response) => void response.writeHead(200, json).end(content)],
    [
      'served',
      (_, response) => void response.setHeader('content-type', 'Application/JSON ;charset=utf-8').end(content),
    ],
    ['content', (_, response) => void response.writeHead(200, json).end(`${content}\n`)],
    ['content', (_, response) => void response.writeHead(200, json).end(content.slice(1))],
    ['content', (_, response) => void response.writeHead(200, json).end()],
    ['content', (_, response) => void response.writeHead(200, json).end(Buffer.from(content, 'latin1'))],
    ['type', (_, response) => void response.end(content)],
    ['type', (_, response) => void response.writeHead(200, { 'content-type': 'application/jsonp' }).end(content)],
    ['status', (_, response) => void response.writeHead(404, json).end(content)],
    ['status', (_, response) => void response.writeHead(206, json).end(content)],
    ['no answer', (_, response) => void response.destroy()],
  ] as const satisfies [string, RequestListener][]) {
    assert.equal(await ask(await serve(t, answer)), result)
  }
})

test('follows no redirect, not even to the same path', async (t) => {
  let asked = 0
  for (const location of [`/${path}`, `/${path}?a`, 'http://127.0.0.1:1/', 'https://acme.com/', '']) {
    const port = await serve(t, (_, response) => {
      asked += 1
      response.writeHead(301, { ...json, location }).end(content)
    })
    assert.equal(await ask(port), 'redirect')
  }
  assert.equal(asked, 5)
})

test('stops reading an endless body, and gives up when the time is over', async (t) => {
  const closed = Promise.withResolvers<void>()
  const endless = await serve(t, (_, response) => {
    response.on('close', closed.resolve).writeHead(200, json)
    const more = () => void (response.write('a'.repeat(500)) && setImmediate(more))
    response.on('drain', more)
    more()
  })
  assert.equal(await ask(endless), 'content')
  await closed.promise
  const stalled = await serve(t, (_, response) => void response.writeHead(200, json).write(content))
  assert.equal(await ask(stalled, { timeoutMs: 200 }), 'no answer')
})

test('returns "no answer" without a server, and "certificate error" without valid TLS', async (t) => {
  assert.equal(await ask(await freePort()), 'no answer')
  for (const server of [createServer(tls, silent), createPlainServer(silent)])
    assert.equal(await ask(await listenOn(t, server, 'localhost')), 'certificate error')
})

test('a check of a domain asks for its files on the HTTPS port only, and again once the texts have changed', async (t) => {
  const asked: unknown[] = []
  const httpsPort = await serve(t, (request, response) => {
    asked.push([request.url, request.headers.host, request.headers['accept-encoding'], request.headers.cookie])
    response.writeHead(200, json).end(content)
  })
  const storage = {
    changesAfter: async () => ({ position: { database: 'a', seq: 0, snapshot: '' }, changes: [] }),
  }
  const other = createPlainServer((_, response) => void response.end('another'))
  const port = await listenOn(t, other, 'localhost')
  const shortUrl = (_: string, alias: string) => `http://localhost:${port}/${alias}`
  const checks = new DomainChecks({
    ...{ storage, shortUrl, dns: await startDns(t, {}) },
    probe: { timeoutMs: patient, httpsPort },
  })
  const results = async (files: Record<string, string>) => (await checks.check('localhost', 'any', files)).files
  assert.deepEqual(await results({}), {})
  assert.deepEqual(await results({ [path]: content }), { [path]: 'served' })
  assert.deepEqual(await results({ [path]: content }), { [path]: 'served' })
  assert.deepEqual(await results({ [path]: '[]' }), { [path]: 'content' })
  const once = [`/${path}`, `localhost:${httpsPort}`, 'identity', undefined]
  assert.deepEqual(asked, [once, once])
})
