/** Malformed requests and floods: they must not affect other visitors, and memory must stay bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchange } from '../../test/raw-socket.ts'
import { startVisitors } from '../../test/visitors.ts'

const domains = { 'go.acme.com': { links: [{ alias: 'a', url: 'https://acme.com/', forward_query: true }] } }
const host = 'Host: go.acme.com\r\n'

for (const [what, request] of Object.entries({
  'HTTP/1.1 without Host': 'GET /a HTTP/1.1\r\nConnection: close\r\n\r\n',
  'HTTP/1.1 without Host, with an absolute target': 'GET http://go.acme.com/a HTTP/1.1\r\nConnection: close\r\n\r\n',
  'two Hosts': `GET /a HTTP/1.1\r\n${host}Host: evil.example\r\nConnection: close\r\n\r\n`,
  'raw bytes in the path': `GET /\xfc HTTP/1.1\r\n${host}\r\n`,
  'a line feed in a header': `GET /a HTTP/1.1\r\n${host}X: a\n\rb\r\n\r\n`,
  'no HTTP at all': 'nonsense\r\n\r\n',
  'a CONNECT': 'CONNECT go.acme.com:443 HTTP/1.1\r\nHost: go.acme.com\r\n\r\n',
})) {
  test(`returns 400 with a page for ${what}, and closes the connection`, async () => {
    const { port } = await startVisitors(domains)
    const [answer, ...more] = await exchange(port, [Buffer.from(request, 'latin1')])
    assert.deepEqual([answer?.status, more.length], [400, 0])
    assert.equal(answer?.headers['content-type'], 'text/html; charset=utf-8')
    assert.match(String(answer?.headers['content-security-policy']), /^default-src 'none'/)
  })
}

test('returns 400 as a problem object for HTTP/1.1 without Host if Accept names JSON first', async () => {
  const { port } = await startVisitors(domains)
  const [answer] = await exchange(port, ['GET /a HTTP/1.1\r\nAccept: application/json\r\nConnection: close\r\n\r\n'])
  const { code, detail } = answer?.body ?? {}
  assert.deepEqual([answer?.status, code, detail], [400, 'malformed_request', 'The request has no Host header.'])
})

test('copies a query to the Location header only', async () => {
  const { port } = await startVisitors(domains)
  const query = '%0d%0aSet-Cookie:%20a=b&"><script>\\'
  const [answer] = await exchange(port, [`GET /a?${query} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`])
  assert.equal(answer?.headers.location, `https://acme.com/?${query}`)
  assert.equal(answer?.headers['set-cookie'], undefined)
  assert.doesNotMatch(answer?.text ?? '', /<script/)
})

test('keeps memory bounded during a flood of unknown hosts, aliases and user agents', async () => {
  const { port } = await startVisitors(domains)
  const flood = async (from: number, count: number) => {
    const requests = Array.from({ length: count }, (_, n) => {
      const name = n % 2 ? 'go.acme.com' : `${from + n}.example`
      return `GET /${'x'.repeat(200)}${from + n} HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: ${from + n}${'u'.repeat(200)}\r\n\r\n`
    })
    const last = `GET /a HTTP/1.1\r\n${host}Connection: close\r\n\r\n`
    const answers = await exchange(port, [`${requests.join('')}${last}`])
    assert.equal(answers.length, count + 1)
  }
  await flood(0, 2_000)
  const before = await settledHeap()
  for (let round = 1; round <= 5; round += 1) await flood(round * 2_000, 2_000)
  // What one request left behind would be a kilobyte at least.
  assert.ok((await settledHeap()) - before < 3_000_000)
})

/** Returns the bytes in use after a full garbage collection. */
async function settledHeap(): Promise<number> {
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
