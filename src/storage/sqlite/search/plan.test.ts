import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { planSearch } from './plan.ts'

const dense = () => new Map(Object.entries({ 'link-': 1, 'ink-7': 0.1, '7.com': 0.1, '.comb': 0.9, combi: 0.8 }))
const none = () => new Map()

test('a term no longer than a gram is looked up as it is', () => {
  deepEqual(planSearch('shop', dense), { match: '"shop"*', isExact: true, share: 0 })
  deepEqual(planSearch('link-', none), { match: '"linkЭ"', isExact: true, share: 0 })
})

test('a longer term is looked up by a few of its grams, and what is found must be looked at', () => {
  deepEqual(planSearch('shopss', none), { match: '"shops" AND "hopss"', isExact: false, share: 0 })
  equal(planSearch('abcdefghijk', none).match, '"abcde" AND "defgh" AND "ghijk"')
  equal(planSearch('aaaaaaaaaa', none).match, '"aaaaa"')
})

test('dense grams are left out unless there are no others', () => {
  deepEqual(planSearch('link-7', dense), { match: '"inkЭ7" AND "linkЭ"', isExact: false, share: 0.1 })
  deepEqual(planSearch('.combi', dense), { match: '"combi" AND "Юcomb"', isExact: false, share: 0.8 })
  deepEqual(planSearch('link-77', dense), { match: '"nkЭ77"', isExact: false, share: 0 })
})

test('characters beyond the basic plane count as one', () => {
  equal(planSearch('😀😁com', none).match, '"😀😁com"')
  equal(planSearch('😀😁co', none).match, '"😀😁co"*')
})
