import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pagination } from './lists.ts'

const all = { page: 1, perPage: 25, total: 214, totalIsExact: true, href: (page: number) => `/l?page=${page}` }
const textOf = (change: Partial<typeof all>) => pagination({ ...all, ...change }).text

test('links a middle page to both neighbors', () => {
  const text = textOf({ page: 3 })
  assert.match(text, /51–75 of 214/)
  assert.match(text, /href="\/l\?page=2" rel="prev">.*href="\/l\?page=4" rel="next">/)
})

test('marks an inexact total, and always has a next page', () => {
  const text = textOf({ page: 400, total: 10_000, totalIsExact: false })
  assert.match(text, /9,976–10,000 of more than 10,000/)
  assert.match(text, /page=401" rel="next"/)
})
