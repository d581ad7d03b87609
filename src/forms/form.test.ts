import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeSpace } from '../spaces/schema.ts'
import { positiveInteger } from './rules.ts'

test('accepts one spelling of each integer up to the largest safe one', () => {
  for (const integer of [1, 10, 4_711, Number.MAX_SAFE_INTEGER]) {
    assert.equal(positiveInteger(String(integer)), integer)
    for (const other of ['0?', '+?', '-?', '?.0', '?e0', '0x?', ' ?', '?\n']) {
      assert.equal(positiveInteger(other.replace('?', String(integer))), undefined, other)
    }
  }
  for (const text of ['0', '', '9007199254740992', '9'.repeat(17), '٣', '３'])
    assert.equal(positiveInteger(text), undefined)
})

test('trims white space and invisible characters at the ends of every text', () => {
  const around = [' ', '\u00ad', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff', '\u00a0', '\u200d \t']
  for (const each of around) {
    const { values, violations } = storeSpace.read({ name: `${each}a-b${each}`, color: `${each}3` })
    assert.deepEqual([values.name, values.color, violations], ['a-b', 3, []], JSON.stringify(each))
    assert.equal(storeSpace.read({ name: each }).violations[0]?.code, 'required')
  }
})
