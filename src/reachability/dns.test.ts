import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDns } from '../../test/dns-server.ts'
import { findRecords } from './dns.ts'

const name = 'go.acme.com'
const a = { type: 'A', name, value: '203.0.113.7' }
const aaaa = { type: 'AAAA', name, value: '2001:db8::7' }
const written = '2001:db8:0:0:0:0:0:7'

test('the CNAME and the addresses of a name, as far as it has them', async (t) => {
  const zone = { A: [a.value], AAAA: [written], CNAME: ['links.acme.com'] }
  const dns = await startDns(t, { [name]: zone, 'a.acme.com': { A: ['203.0.113.7', '203.0.113.8'] } })
  assert.deepEqual(await findRecords(name, dns), [{ type: 'CNAME', name, value: 'links.acme.com' }, a, aaaa])
  const both = await findRecords('a.acme.com', dns)
  assert.deepEqual(
    both,
    ['203.0.113.7', '203.0.113.8'].map((value) => ({ type: 'A', name: 'a.acme.com', value })),
  )
})

test('no records for a name that does not exist, and for one that has none of these', async (t) => {
  const dns = await startDns(t, { 'mail.acme.com': {} })
  for (const one of ['gone.acme.com', 'mail.acme.com']) assert.equal(await findRecords(one, dns), 'no records')
})

test('no answer from a DNS that is silent or fails, and from none at all', async (t) => {
  const silent = { A: 'silence', AAAA: 'silence', CNAME: 'silence' } as const
  const dns = await startDns(t, { [name]: silent }, { timeoutMs: 50 })
  assert.equal(await findRecords(name, dns), 'no answer')
  const failing = await startDns(t, { [name]: { A: 'failure' } })
  assert.equal(await findRecords(name, failing), 'no answer')
  assert.equal(await findRecords(name, { timeoutMs: 1_000, servers: ['127.0.0.1:1'] }), 'no answer')
})

test('what has come when the time is over is told without the rest', async (t) => {
  const dns = await startDns(t, { [name]: { A: [a.value], AAAA: 'silence' } }, { timeoutMs: 1_000 })
  assert.deepEqual(await findRecords(name, dns), [a])
})

test('a question that gets lost is asked again', async (t) => {
  const dns = await startDns(t, { [name]: { A: [a.value] } }, { timeoutMs: 2_000, lost: 3 })
  assert.deepEqual(await findRecords(name, dns), [a])
})

test('of very many addresses, the first eight', async (t) => {
  const many = Array.from({ length: 20 }, (_, n) => `203.0.113.${n}`)
  const dns = await startDns(t, { [name]: { A: many } })
  assert.equal((await findRecords(name, dns)).length, 8)
})
