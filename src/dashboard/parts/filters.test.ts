import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activeFilters, filterBar } from './filters.ts'

test('the bar is a form that keeps the order, and marks the filters that are set', () => {
  const options = [
    { value: '', label: 'Any status' },
    { value: 'active', label: 'Active' },
  ]
  const { text } = filterBar({
    action: '/app/links',
    search: { name: 'search', label: 'Search links', value: '"a"' },
    filters: [
      { name: 'status', label: 'Status', value: 'active', options },
      { name: 'space_id', label: 'Space', value: '', options: [] },
    ],
    kept: { sort_by: 'clicks' },
    results: 'results',
  })
  assert.match(text, /^<form class="filters" method="get" action="\/app\/links" role="search" data-live="results">/)
  assert.match(text, /<label class="hidden-text" for="filter-search">Search links<\/label>/)
  assert.match(text, /name="search" value="&quot;a&quot;"/)
  assert.match(text, /<select id="filter-status" name="status" data-set>.*<option value="active" selected>/)
  assert.match(text, /<select id="filter-space_id" name="space_id"><\/select>/)
  assert.match(text, /<input type="hidden" name="sort_by" value="clicks"><button [^>]*>Apply</)
})

test('active filters each lead to the list without them, and several to the whole list', () => {
  assert.equal(activeFilters([], '/l').text, '')
  const status = { label: 'Status: <active>', href: '/l?a' }
  assert.match(
    activeFilters([status], '/l').text,
    /href="\/l\?a">.*Remove the filter.*<bdi>Status: &lt;active&gt;<\/bdi>/,
  )
  assert.doesNotMatch(activeFilters([status], '/l').text, /Clear all/)
  assert.match(activeFilters([status, status], '/l').text, /<a class="small" href="\/l">Clear all<\/a>/)
})
