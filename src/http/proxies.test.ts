import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { Proxies } from './proxies.ts'

type Trusted = ConstructorParameters<typeof Proxies>[0]

/** Returns the address, host and scheme of a request from `nearest` with these headers. */
function known(trusted: Trusted, nearest: string, headers: IncomingMessage['headers']) {
  const request = { headers, socket: { remoteAddress: nearest } } as IncomingMessage
  const proxies = new Proxies(trusted)
  return [proxies.readAddress(request), proxies.readHost(request), proxies.readProtocol(request)]
}

const forwarded = {
  host: 'inner:3000',
  'x-forwarded-for': '203.0.113.7, 198.51.100.2, 10.0.0.9',
  'x-forwarded-host': 'evil.example, go.acme.com',
  'x-forwarded-proto': 'HTTPS, http',
}

const cases: readonly [what: string, Trusted, nearest: string, known: string[]][] = [
  ['nobody', false, '10.0.0.1', ['10.0.0.1', 'inner:3000', 'http']],
  ['one proxy', 1, '10.0.0.1', ['10.0.0.9', 'go.acme.com', 'https']],
  ['two proxies in a row', 2, '10.0.0.1', ['198.51.100.2', 'go.acme.com', 'https']],
  ['more proxies than there are', 9, '10.0.0.1', ['203.0.113.7', 'go.acme.com', 'https']],
  ['a network of proxies', ['10.0.0.0/8'], '10.0.0.1', ['198.51.100.2', 'go.acme.com', 'https']],
  ['a proxy by its address', ['10.0.0.1'], '10.0.0.1', ['10.0.0.9', 'go.acme.com', 'https']],
  ['a network by its name', ['loopback'], '::1', ['10.0.0.9', 'go.acme.com', 'https']],
  ['other proxies', ['10.0.0.2', 'fd00::/8'], '10.0.0.1', ['10.0.0.1', 'inner:3000', 'http']],
]

for (const [what, trusted, nearest, expected] of cases) {
  test(`uses the right values with ${what} trusted`, () =>
    assert.deepEqual(known(trusted, nearest, forwarded), expected))
}

test('uses the request itself if a trusted proxy forwards nothing', () => {
  assert.deepEqual(known(1, '10.0.0.1', { host: 'go.acme.com' }), ['10.0.0.1', 'go.acme.com', 'http'])
  const empty = { host: 'go.acme.com', 'x-forwarded-host': '', 'x-forwarded-proto': '' }
  assert.deepEqual(known(1, '10.0.0.1', empty), ['10.0.0.1', 'go.acme.com', 'http'])
})

test('returns an empty host and protocol for an empty value in a list', () => {
  const headers = { host: 'go.acme.com', 'x-forwarded-host': 'a.example,', 'x-forwarded-proto': ',https' }
  assert.deepEqual(known(1, '10.0.0.1', headers), ['10.0.0.1', '', ''])
})

test('returns empty text without a host and an address', () => {
  assert.deepEqual(known(false, undefined as unknown as string, {}), ['', '', 'http'])
})
