import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../../http/html.ts'
import { dnsRecords } from '../pages/domains.ts'
import type { Sorting } from './list-controls.ts'
import { type Column, longTable, selectable, selectRow, table } from './table.ts'

interface Row {
  readonly name: string
  readonly clicks: number
}

const columns: readonly Column<Row>[] = [
  { label: 'Select', kind: 'select', cell: ({ clicks, name }) => selectRow(clicks, name) },
  { label: 'Name', kind: 'lead', sortBy: 'name', cell: ({ name }) => name },
  { label: 'Clicks', kind: 'number', sortBy: 'clicks', cell: ({ clicks }) => clicks },
  { label: 'Note', cell: () => null },
  { label: 'Shown', cell: () => html`<b>x</b>`, isPlain: true },
]
const rows: readonly Row[] = [{ name: '<a>', clicks: 7 }]
const sorting = (by: string, isDescending: boolean): Sorting => ({
  ...{ by, isDescending },
  href: (by, isDescending) => `/l?sort_by=${by}&sort=${isDescending ? 'desc' : 'asc'}`,
})

test('a table has a caption, heads with their scope, and rows whose values have labels for phones', () => {
  const { text } = table({ caption: 'Links', columns, rows })
  assert.match(
    text,
    /<div class="table blocks"><table role="table" class="fixed"><caption class="hidden-text">Links<\/caption>/,
  )
  assert.match(text, /<th scope="col" role="columnheader" class="select-cell"><span class="hidden-text">Select</)
  assert.match(text, /<th scope="row" role="rowheader" class="lead-cell">&lt;a&gt;<\/th>/)
  assert.match(text, /<td role="cell" class="number" data-label="Clicks">7<\/td><td role="cell"><\/td>/)
  assert.match(text, /<td role="cell"><b>x<\/b><\/td>/)
  assert.doesNotMatch(text, /<a |aria-sort/)
})

test('heads lead to the other order; figures are first asked for from the top', () => {
  const ascending = table({ caption: 'Links', columns, rows, sorting: sorting('name', false) }).text
  assert.match(ascending, /aria-sort="ascending"><a href="\/l\?sort_by=name&amp;sort=desc">Name<svg/)
  assert.match(
    ascending,
    /class="number"><a href="\/l\?sort_by=clicks&amp;sort=desc">Clicks<\/a><span class="in-block">Clicks<\/span><\/th>/,
  )
  const descending = table({ caption: 'Links', columns, rows, sorting: sorting('clicks', true) }).text
  assert.match(descending, /aria-sort="descending"><a href="\/l\?sort_by=clicks&amp;sort=asc">Clicks<svg/)
  assert.match(descending, /<a href="\/l\?sort_by=name&amp;sort=asc">Name<\/a>/)
})

test('long tables are rendered ten rows at a time, one table in each tick of the event loop', async () => {
  const many = Array.from({ length: 35 }, (_, clicks): Row => ({ name: `row ${clicks}`, clicks }))
  let tick = 0
  const count = () => {
    tick += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const ticks: number[] = []
  const name: Column<Row> = { label: 'Name', cell: (row) => ticks.push(tick) && row.name }
  const shown = await Promise.all([1, 2].map(() => longTable({ caption: 'Links', columns: [name], rows: many })))
  clearImmediate(next)
  const inEach = [...Map.groupBy(ticks, (each) => each).values()].map(({ length }) => length)
  assert.deepEqual(inEach, [10, 10, 10, 10, 10, 10, 5, 5])
  const whole = table({ caption: 'Links', columns: [name], rows: many }).text
  for (const { text } of shown) assert.equal(text, whole)
})

test('a menu has all orders, for where the heads are not shown', () => {
  const { text } = table({ caption: 'Links', columns, rows, sorting: sorting('clicks', true) })
  assert.match(
    text,
    /<div class="sort"><button [^>]*popovertarget="sort-by">.*Sort by.*<span>Clicks, most first<\/span>/,
  )
  assert.match(text, /<a href="\/l\?sort_by=clicks&amp;sort=desc" aria-current="true">Clicks, most first<\/a>/)
  assert.match(text, /<a href="\/l\?sort_by=name&amp;sort=asc">Name, A to Z<\/a>/)
  const dated: Column<Row> = { label: 'Added', leaves: 1, width: 'small', sortBy: 'id', cell: () => 'today' }
  const leaving = table({ caption: 'Links', columns: [dated], rows, sorting: sorting('alias', true) }).text
  assert.match(leaving, /<div class="sort early">.*<span>another field<\/span>/)
  assert.match(leaving, /<td role="cell" class="width-small leaves-1" data-label="Added">/)
  assert.match(leaving, /<table role="table"><caption/)
})

test('rows that can be selected belong to a form with what can be done, and may have forms of their own', () => {
  const { text } = selectable('/app/links/selected', table({ caption: 'Links', columns, rows }), 'Delete')
  assert.match(text, /^<div class="results" data-select><div class="table/)
  assert.match(
    text,
    /<input type="checkbox" form="selection" name="row-7"><span class="hidden-text">Select &lt;a&gt;<\/span>/,
  )
  assert.match(text, /<form method="post" action="\/app\/links\/selected" class="selection" id="selection">/)
  assert.match(text, /<div class="actions" id="selection-actions" popover>Delete<\/div>/)
})

test('DNS records have buttons that copy the name and the value', () => {
  const { text } = dnsRecords([{ type: 'AAAA', name: 'go.acme.com', value: '2001:db8::7' }])
  assert.match(text, /data-label="Type">AAAA</)
  assert.match(text, /data-copy="go\.acme\.com".*Copy the name/)
  assert.match(text, /<code>2001:db8::7<\/code><button [^>]*data-copy="2001:db8::7">.*Copy the value/)
})
