import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { foldCase } from '../lib/text.ts'
import { parseTarget, readHostName, readPort } from './visited-url.ts'

const pathOf = (target: string) => parseTarget(target).path
const alias = (name: string, asksForPreview = false) => ({ kind: 'alias', alias: name, asksForPreview })

test('recognizes /robots.txt and /favicon.ico in any case', () => {
  for (const target of ['/robots.txt', '/Robots.TXT', '/robots%2Etxt', '/robots.txt/?a']) {
    assert.deepEqual(pathOf(target), { kind: 'robots' })
  }
  assert.deepEqual(pathOf('/favicon.ico'), { kind: 'favicon' })
  assert.deepEqual(pathOf('/robots.txt+'), alias('robots.txt', true))
})

test('decodes an alias once, composes it to NFC with its case, and ignores one trailing slash', () => {
  const sameAsSummer = ['/Summer', '/Summer/', '/%53ummer', '/Summer?x', '/Summer/?x', '/Summer%2F']
  for (const target of sameAsSummer) assert.deepEqual(pathOf(target), alias('Summer'), target)
  for (const target of ['/%C3%89t%C3%A9', '/E%CC%81te%CC%81']) {
    assert.deepEqual(pathOf(target), alias('Été'), target)
  }
  assert.deepEqual(pathOf('/a%2525'), alias('a%25'))
  assert.deepEqual(pathOf('/a/b'), alias('a/b'))
  assert.deepEqual(pathOf('/a%2Fb'), alias('a/b'))
  for (const target of ['/a//', '/a%2F/', '/a/%2f']) assert.deepEqual(pathOf(target), alias('a/'))
  assert.deepEqual(pathOf('/a/../b'), alias('a/../b'))
})

test('reads a final plus as a request for the preview', () => {
  for (const target of ['/summer+', '/summer+/', '/summer%2B', '/summer+?x=y+']) {
    assert.deepEqual(pathOf(target), alias('summer', true), target)
  }
  assert.deepEqual(pathOf('/summer?x=y+'), alias('summer'))
})

test('rejects undecodable and overlong aliases', () => {
  const strange = [
    '/%',
    '/%00',
    '/a%00b+',
    '/%zz',
    '/%ff',
    '/%C3',
    '/%ED%A0%80',
    '*',
    '',
    'http:///a',
    `/${'a'.repeat(1_100)}`,
  ]
  for (const target of strange) assert.deepEqual(pathOf(target), { kind: 'undecodable' }, target)
})

test('does not normalize 8 KiB of combining marks', (t) => {
  const normalize = t.mock.method(String.prototype, 'normalize')
  assert.deepEqual(pathOf(`/a${'%CC%81%CC%96'.repeat(680)}`), { kind: 'undecodable' })
  assert.equal(normalize.mock.callCount(), 0)
})

test('keeps the query unchanged', () => {
  for (const query of ['a=%zz&b', '?', 'a+b=%20', 'x/y']) assert.equal(parseTarget(`/a?${query}`).query, query)
  assert.equal(parseTarget('/a?x#y').query, 'x')
  assert.equal(parseTarget('/a').query, '')
})

test('reads every spelling of an alias as the same alias', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((text) => !/[+/]$/.test(text))
  fc.assert(
    fc.property(name, fc.boolean(), (text, isShouted) => {
      const written = encodeURIComponent(isShouted ? text.toUpperCase() : text.normalize('NFD'))
      const found = pathOf(`/${written}`)
      if (found.kind === 'alias') assert.equal(foldCase(found.alias), foldCase(text))
      else assert.match(foldCase(text), /^(robots\.txt|favicon\.ico)$/)
    }),
    { numRuns: runs(500) },
  )
})

/** Encodes a header as Node decodes it: each byte is a character. */
const sent = (host: string) => Buffer.from(host).toString('latin1')

test('returns null, or a name that no domain has, for a malformed host', () => {
  const strange = ['', 'a b', '\xff', ...':80 a:b a:80:80 u@a a/b a?b a#b [::1] [::1]:80 a\\b a%2eb'.split(' ')]
  for (const host of [...strange, 'a'.repeat(600)]) assert.equal(readHostName(host), null, host)
  assert.equal(readHostName('go.acme.com..'), 'go.acme.com.')
})

test('returns the port as URLs write it', () => {
  const ports = { a: '', 'a:': '', 'a:80': '80', 'a:0080': '80', 'a:x': '', '[::1]:80': '' }
  for (const [host, port] of Object.entries(ports)) assert.equal(readPort(host), port, host)
})

test('never throws, and returns no name with URL delimiters', () => {
  const host = fc.oneof(
    fc.string({ unit: anyCharacter }).map(sent),
    fc.stringMatching(/^[a-zA-Z.:@/[\]%\\0-9 \xfc\xc3]{0,20}$/),
  )
  fc.assert(
    fc.property(host, (text) => {
      const name = readHostName(text)
      if (name !== null) assert.match(name, /^[a-z\d._-]+$|^$/)
      assert.match(readPort(text), /^\d*$/)
    }),
    { numRuns: runs(500) },
  )
})
