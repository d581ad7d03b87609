import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDns } from '../../test/dns-server.ts'
import { findRecords } from './dns.ts'

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
  const dns = await startDns(t, { [name]: { A: [a.value], AAAA: 'silence' } }, { timeoutMs: 1_000 })
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
