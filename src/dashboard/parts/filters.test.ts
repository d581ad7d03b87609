import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterBar, resultCount } from './list-controls.ts'

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

test('what was found stands in words, beside the way to the whole list', () => {
  assert.equal(resultCount('2 links', null).text, '<div class="found"><p data-count>2 links</p></div>')
  assert.match(resultCount('2 links', '/l?a&b').text, /<a class="small" href="\/l\?a&amp;b">Clear all<\/a><\/div>$/)
})
