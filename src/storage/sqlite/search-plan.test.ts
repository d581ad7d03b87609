import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { planSearch } from './search-plan.ts'

const dense = new Map(['lin', 'ink', 'nk-', '.co', 'com'].map((trigram) => [trigram, 1]))

test('a term without dense trigrams is looked up as it is', () => {
  deepEqual(planSearch('shop', dense), { match: '"shop"', worthwhile: null })
})

test('a term of nothing but dense trigrams is looked up as it is', () => {
  deepEqual(planSearch('link-', dense), { match: '"link-"', worthwhile: null })
})

test('dense trigrams are left out, and what is found must be looked at', () => {
  const plan = planSearch('link-777.com', dense)
  equal(plan.match, '"k-777.c"')
  ok(plan.worthwhile !== null && plan.worthwhile > 0)
})

test('the parts between dense trigrams are looked up together', () => {
  equal(planSearch('shop.com-777', dense).match, '"shop.c" AND "om-777"')
})

test('characters of the query language are looked up literally', () => {
  equal(planSearch('a"b*', new Map()).match, '"a""b*"')
})

test('characters beyond the basic plane count as one', () => {
  equal(planSearch('😀😁com', dense).match, '"😀😁co"')
})
