import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { foldCase } from '../lib/fold-case.ts'
import { visitedTarget } from './visited-path.ts'

const pathOf = (target: string) => visitedTarget(target).path
const alias = (name: string, asksForPreview = false) => ({ kind: 'alias', alias: name, asksForPreview })

test('the root is the homepage, whatever the query', () => {
  for (const target of ['/', '/?a=1', '//', '/#x']) assert.deepEqual(pathOf(target), { kind: 'homepage' })
})

test('/robots.txt and /favicon.ico are known in any case', () => {
  for (const target of ['/robots.txt', '/Robots.TXT', '/robots%2Etxt', '/robots.txt/?a']) {
    assert.deepEqual(pathOf(target), { kind: 'robots' })
  }
  assert.deepEqual(pathOf('/favicon.ico'), { kind: 'favicon' })
  assert.deepEqual(pathOf('/robots.txt+'), alias('robots.txt', true))
})

test('an alias is folded, decoded once and in NFC; one trailing slash is ignored', () => {
  const sameAsSummer = ['/summer', '/Summer', '/summer/', '/%73ummer', '/summer?x', '/summer/?x', '/summer%2F']
  for (const target of sameAsSummer) assert.deepEqual(pathOf(target), alias('summer'), target)
  for (const target of ['/%C3%A9t%C3%A9', '/E%CC%81te%CC%81', '/%C3%89T%C3%89']) {
    assert.deepEqual(pathOf(target), alias('été'), target)
  }
  assert.deepEqual(pathOf('/a%2525'), alias('a%25'))
  assert.deepEqual(pathOf('/a/b'), alias('a/b'))
  assert.deepEqual(pathOf('/a%2Fb'), alias('a/b'))
  for (const target of ['/a//', '/a%2F/', '/a/%2f']) assert.deepEqual(pathOf(target), alias('a/'))
  assert.deepEqual(pathOf('/a/../b'), alias('a/../b'))
})

test('a plus at the end asks for a preview', () => {
  for (const target of ['/summer+', '/SUMMER+/', '/summer%2B', '/summer+?x=y+']) {
    assert.deepEqual(pathOf(target), alias('summer', true), target)
  }
  assert.deepEqual(pathOf('/summer?x=y+'), alias('summer'))
})

test('what cannot be decoded, or is longer than any alias, is no alias', () => {
  const strange = ['/%', '/%zz', '/%ff', '/%C3', '/%ED%A0%80', '*', '', 'http:///a', `/${'a'.repeat(600)}`]
  for (const target of strange) assert.deepEqual(pathOf(target), { kind: 'undecodable' }, target)
})

test('a target of 8 KiB of combining marks takes no time', () => {
  const began = performance.now()
  for (let run = 0; run < 1_000; run += 1) pathOf(`/a${'%CC%81%CC%96'.repeat(680)}`)
  assert.ok(performance.now() - began < 1_000)
})

test('the query is kept as it was sent', () => {
  for (const query of ['a=%zz&b', '?', 'a+b=%20', 'x/y']) assert.equal(visitedTarget(`/a?${query}`).query, query)
  assert.equal(visitedTarget('/a?x#y').query, 'x')
  assert.equal(visitedTarget('/a').query, '')
})

test('every alias is found under every way to write it', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((text) => !/[+/]$/.test(text))
  fc.assert(
    fc.property(name, fc.boolean(), (text, isShouted) => {
      const written = encodeURIComponent(isShouted ? text.toUpperCase() : text.normalize('NFD'))
      const found = pathOf(`/${written}`)
      if (found.kind === 'alias') assert.equal(found.alias, foldCase(text))
      else assert.match(foldCase(text), /^(robots\.txt|favicon\.ico)$/)
    }),
    { numRuns: runs(500) },
  )
})

test('whatever the target, nothing is thrown', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => void visitedTarget(`/${text}`)))
})
