import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Column, longTable, table } from './table.ts'

interface Row {
  readonly name: string
  readonly clicks: number
}

test('renders long tables ten rows at a time, one table per event-loop tick', async () => {
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
