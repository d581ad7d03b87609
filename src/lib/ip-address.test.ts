import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressIn, toNetwork } from './ip-address.ts'

test('returns the address that a proxy forwards, without a port, and its network', () => {
  for (const forwarded of ['192.0.2.1', '192.0.2.1:1234', '::ffff:192.0.2.1', '[::FFFF:192.0.2.1]:1234']) {
    assert.deepEqual([addressIn(forwarded), toNetwork(forwarded)], ['192.0.2.1', '192.0.2.1'])
  }
  for (const forwarded of ['2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:1234']) {
    assert.deepEqual([addressIn(forwarded), toNetwork(forwarded)], ['2001:db8::1', '2001:db8:0:0::/64'])
  }
  for (const text of ['garbage', '1.2.3', `z${'z'.repeat(5_000)}`]) assert.equal(toNetwork(text), 'unknown')
})

test('returns the /64 of an IPv6 address in any spelling', () => {
  const network = toNetwork('2001:db8:0:12:1:2:3:4')
  const alike = [
    '2001:db8:0:12::',
    '2001:DB8:0:12::1',
    '2001:0db8:0000:0012:ffff:ffff:ffff:ffff',
    '2001:db8::12:0:0:0:9',
  ]
  for (const address of [...alike, '2001:db8:0:12::1%eth0']) assert.equal(toNetwork(address), network, address)
  for (const address of ['2001:db8:0:13::1', '2001:db8::12', '::1', '2001:db9:0:12::1']) {
    assert.notEqual(toNetwork(address), network, address)
  }
})

test('returns the same network exactly if the first 64 bits are equal', () => {
  const groups = fc.array(fc.constantFrom(0, 1, 0x12, 0xffff), { minLength: 8, maxLength: 8 })
  const written = (values: readonly number[]) => values.map((value) => value.toString(16)).join(':')
  const shortened = (values: readonly number[]) =>
    written(values)
      .replace(/(?:^|:)0(?::0)+(?=:|$)/, '::')
      .replace(/:{3,}/, '::')
  fc.assert(
    fc.property(groups, groups, (first, second) => {
      const isSame = written(first.slice(0, 4)) === written(second.slice(0, 4))
      assert.equal(toNetwork(shortened(first)) === toNetwork(written(second)), isSame)
    }),
  )
})
