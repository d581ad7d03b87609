import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordsFor } from './dns.ts'

const ipv4 = '203.0.113.7'
const ipv6 = '2001:db8::7'
const local = '127.0.0.1 ::1 10.0.0.7 172.17.0.2 192.168.1.7 169.254.1.1 100.64.0.1 fe80::1 fd00::1'.split(' ')

/** Returns the recommended records as `TYPE value`. */
function set(name: string, host: string | null, addresses: readonly string[] = []): string[] {
  const records = recordsFor(name, host, addresses)
  assert.ok(records.every((record) => record.name === name))
  return records.map(({ type, value }) => `${type} ${value}`)
}

test('recommends a CNAME for names below a registered name', () => {
  for (const name of ['go.acme.com', 'a.b.acme.co.uk', 'go.acme.github.io'])
    assert.deepEqual(set(name, 'links.acme.com', [ipv4]), ['CNAME links.acme.com'])
  assert.deepEqual(set('go.acme.com', 'acme.com'), ['CNAME acme.com'])
})

test('recommends addresses for registered names and for the public name itself', () => {
  for (const name of ['acme.com', 'acme.co.uk', 'acme.github.io', 'localhost'])
    assert.deepEqual(set(name, 'links.acme.com', [ipv4, ipv6]), [`A ${ipv4}`, `AAAA ${ipv6}`])
  assert.deepEqual(set('links.acme.com', 'links.acme.com', [ipv6]), [`AAAA ${ipv6}`])
})

test('recommends addresses if the server has no public name', () => {
  for (const host of [null, 'localhost', 'waymark', 'waymark.local', 'app.localhost', '127.0.0.1', '[::1]', ipv4])
    assert.deepEqual(set('go.acme.com', host, [ipv4]), [`A ${ipv4}`], String(host))
  assert.deepEqual(set('go.acme.com', `[${ipv6}]`, [ipv4]), [`AAAA ${ipv6}`, `A ${ipv4}`])
})

test('recommends nothing without a public address', () => {
  for (const host of [null, 'localhost', ...local, '[::1]'])
    assert.deepEqual(set('go.acme.com', host, [...local, 'nonsense']), [])
  assert.deepEqual(set('acme.com', 'links.acme.com'), [])
})
