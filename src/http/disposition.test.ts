import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dispositionOf } from './disposition.ts'

test('a name of plain signs stands as it is; slashes and spaces become hyphens', () => {
  assert.equal(dispositionOf('inline', 'link-1.svg'), 'inline; filename="link-1.svg"')
  assert.equal(dispositionOf('attachment', 'a/b c.png'), 'attachment; filename="a-b-c.png"')
})

test('any other name is given twice: with plain signs, and encoded', () => {
  assert.equal(
    dispositionOf('attachment', 'été\u202e".svg'),
    `attachment; filename="-t---.svg"; filename*=UTF-8''%C3%A9t%C3%A9-%22.svg`,
  )
})

test('no name adds to the header', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (name) => {
      const [, plain, encoded] =
        /^inline; filename="([\w.~-]+)"(?:; filename\*=UTF-8''([\w.~%-]+))?$/.exec(dispositionOf('inline', name)) ?? []
      assert.ok(plain !== undefined)
      assert.doesNotMatch(decodeURIComponent(encoded ?? ''), /[/\\\p{C}]/u)
    }),
  )
})
