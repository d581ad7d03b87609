import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDns } from '../../test/dns-server.ts'
import { findRecords, recordsFor } from './dns.ts'

const name = 'go.acme.com'
const a = { type: 'A', name, value: '203.0.113.7' }
const aaaa = { type: 'AAAA', name, value: '2001:db8::7' }
const written = '2001:db8:0:0:0:0:0:7'

test('returns the CNAME and the addresses of a name', async (t) => {
  const zone = { A: [a.value], AAAA: [written], CNAME: ['links.acme.com'] }
  const dns = await startDns(t, { [name]: zone, 'a.acme.com': { A: ['203.0.113.7', '203.0.113.8'] } })
  assert.deepEqual(await findRecords(name, dns), [{ type: 'CNAME', name, value: 'links.acme.com' }, a, aaaa])
  const both = await findRecords('a.acme.com', dns)
  assert.deepEqual(
    both,
    ['203.0.113.7', '203.0.113.8'].map((value) => ({ type: 'A', name: 'a.acme.com', value })),
  )
})

test('returns "no records" for missing names and other records', async (t) => {
  const dns = await startDns(t, { 'mail.acme.com': {} })
  for (const one of ['gone.acme.com', 'mail.acme.com']) assert.equal(await findRecords(one, dns), 'no records')
})

test('returns "no answer" if the DNS is silent, fails or is unreachable', async (t) => {
  const silent = { A: 'silence', AAAA: 'silence', CNAME: 'silence' } as const
  const dns = await startDns(t, { [name]: silent }, { timeoutMs: 50 })
  assert.equal(await findRecords(name, dns), 'no answer')
  const failing = await startDns(t, { [name]: { A: 'failure' } })
  assert.equal(await findRecords(name, failing), 'no answer')
  assert.equal(await findRecords(name, { timeoutMs: 1_000, servers: ['127.0.0.1:1'] }), 'no answer')
})

test('returns partial results at the timeout', async (t) => {
  const dns = await startDns(t, { [name]: { A: [a.value], AAAA: 'silence' } }, { timeoutMs: 2_000 })
  assert.deepEqual(await findRecords(name, dns), [a])
})

test('repeats a lost query', async (t) => {
  const dns = await startDns(t, { [name]: { A: [a.value] } }, { timeoutMs: 8_000, lost: 3 })
  assert.deepEqual(await findRecords(name, dns), [a])
})

test('returns at most eight addresses', async (t) => {
  const many = Array.from({ length: 20 }, (_, n) => `203.0.113.${n}`)
  const dns = await startDns(t, { [name]: { A: many } })
  assert.equal((await findRecords(name, dns)).length, 8)
})

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
