import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { nameIn, portIn } from './host.ts'

/** As Node hands a header over: each byte a character. */
const sent = (host: string) => Buffer.from(host).toString('latin1')

test('case, port and one trailing dot make no difference', () => {
  for (const host of [
    'go.acme.com',
    'GO.Acme.COM',
    'go.acme.com:3080',
    'go.acme.com:',
    'go.acme.com.',
    'Go.acme.com.:80',
  ]) {
    assert.equal(nameIn(host), 'go.acme.com')
  }
})

test('a name in UTF-8 is the name in A-labels', () => {
  for (const host of ['bücher.example', 'BÜCHER.example:80', 'xn--bcher-kva.example', 'XN--BCHER-KVA.example.']) {
    assert.equal(nameIn(sent(host)), 'xn--bcher-kva.example', host)
  }
})

test('what is not the name of a host is null, or a name that no domain has', () => {
  const strange = [
    '',
    ':80',
    'a:b',
    'a:80:80',
    'u@a',
    'a/b',
    'a?b',
    'a#b',
    'a b',
    '[::1]',
    '[::1]:80',
    'a\\b',
    'a%2eb',
    '\xff',
  ]
  for (const host of [...strange, 'a'.repeat(600)]) assert.equal(nameIn(host), null, host)
  assert.equal(nameIn('go.acme.com..'), 'go.acme.com.')
})

test('the port is written as in URLs', () => {
  const ports = { a: '', 'a:': '', 'a:80': '80', 'a:0080': '80', 'a:x': '', '[::1]:80': '' }
  for (const [host, port] of Object.entries(ports)) assert.equal(portIn(host), port, host)
})

test('whatever the Host, nothing is thrown, and a name has none of the characters that have a meaning in URLs', () => {
  const host = fc.oneof(
    fc.string({ unit: 'binary' }).map(sent),
    fc.stringMatching(/^[a-zA-Z.:@/[\]%\\0-9 \xfc\xc3]{0,20}$/),
  )
  fc.assert(
    fc.property(host, (text) => {
      const name = nameIn(text)
      if (name !== null) assert.match(name, /^[a-z\d._-]+$|^$/)
      assert.match(portIn(text), /^\d*$/)
    }),
    { numRuns: runs(500) },
  )
})
