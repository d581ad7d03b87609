import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listLinksQuery } from '../links/filters.ts'
import { resources } from '../resources.ts'
import { ListState, pagination, requestsOf } from './lists.ts'

const all = {
  page: 1,
  perPage: 25,
  rows: 25,
  total: 214,
  totalIsExact: true,
  href: (page: number) => `/l?page=${page}`,
}
const textOf = (change: Partial<Parameters<typeof pagination>[0]>) => pagination({ ...all, ...change }).text

test('links a middle page to the first, previous, next and last page', () => {
  const text = textOf({ page: 3 })
  assert.match(text, /51–75 of 214/)
  assert.match(text, /Page 3 of 9/)
  const hrefs = [...text.matchAll(/href="([^"]+)"(?: rel="(\w+)")? title="([^"]+)"/g)].map(([, ...parts]) => parts)
  assert.deepEqual(hrefs, [
    ['/l?page=1', undefined, 'First page'],
    ['/l?page=2', 'prev', 'Previous page'],
    ['/l?page=4', 'next', 'Next page'],
    ['/l?page=9', undefined, 'Last page'],
  ])
})

test('an inexact total has no last page, and a short page no next one', () => {
  const text = textOf({ page: 401, total: 10_000, totalIsExact: false })
  assert.match(text, /10,001–10,025 of more than 10,000/)
  assert.match(text, /Page 401</)
  assert.match(text, /page=402" rel="next"/)
  assert.doesNotMatch(text, /Last page/)
  assert.doesNotMatch(textOf({ page: 500, rows: 3, total: 10_000, totalIsExact: false }), /rel="next"/)
})

test('another page size keeps the first row on the page', () => {
  const list = (query: Record<string, string>) =>
    new ListState('/l', { search: 'x', ...query }, listLinksQuery, requestsOf(resources.links))
  const sizesOf = (query: Record<string, string>, total: number) => {
    const rows = Array.from({ length: Number(query.per_page ?? 25) })
    const { text } = list(query).pagination({ rows, total, totalIsExact: true })
    return [...text.matchAll(/href="([^"]+)"[^>]*><span class="hidden-text">Show/g)].map(([, href]) => href)
  }
  assert.deepEqual(sizesOf({ page: '4' }, 500), [
    '/l?search=x&amp;per_page=25&amp;page=4',
    '/l?search=x&amp;per_page=50&amp;page=2',
    '/l?search=x&amp;per_page=100',
  ])
  assert.deepEqual(sizesOf({}, 25), [])
  assert.deepEqual(list({ per_page: '50', page: '2', sort_by: 'alias' }).preserved, {
    sort_by: 'alias',
    per_page: '50',
  })
})
