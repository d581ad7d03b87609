/** Malformed and hostile requests of visitors. */
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
