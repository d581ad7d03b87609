import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvParts, csvRow, parseCsv, readCsv } from './csv.ts'

test('quotes cells with commas, quotes and line breaks, and leaves null empty', () => {
  assert.equal(
    csvRow(['a,b', 'say "hi"', 'two\r\nlines', null, 'ä', 0.5, -1]),
    '"a,b","say ""hi""","two\r\nlines",,ä,0.5,-1\r\n',
  )
})

test('escapes formulas with an apostrophe', () => {
  for (const value of ['=1+1', '+1', '-x.example', '@x', '\tx', '\rx', "'=1", "''+1"]) {
    assert.equal(csvRow([value]), value.startsWith('\r') ? `"'${value}"\r\n` : `'${value}\r\n`)
  }
})

test('formats many rows in parts', async () => {
  const rows = Array.from({ length: 2_500 }, (_, n) => ['row', n])
  const parts = await Array.fromAsync(csvParts(rows))
  assert.deepEqual([parts.length, parts.join('')], [3, rows.map(csvRow).join('')])
  assert.deepEqual(await Array.fromAsync(csvParts([])), [])
})

test('parses what it writes, with either line break, and skips empty lines', async () => {
  const rows = [
    ['a', 'b,"c"', "'=x", '=1', "''+"],
    ['two\r\nlines', '', "it's", '-', ''],
  ]
  assert.deepEqual(await parseCsv(rows.map((row) => csvRow(row)).join('\r\n')), rows)
  assert.deepEqual(await parseCsv('a,b\n\n1,\n,2'), [
    ['a', 'b'],
    ['1', ''],
    ['', '2'],
  ])
  assert.deepEqual(await parseCsv('a,'), [['a', '']])
  for (const text of ['"a', '"a"b', 'a"b', 'a\rb']) assert.equal(await parseCsv(text), undefined, text)
  assert.equal(await readCsv('a\n"b\nc"\n\n"d'), 4)
})

test('numbers rows with the empty lines between them, and counts rows after the first 10,000', async () => {
  const [a, b] = [
    { number: 1, cells: ['a'] },
    { number: 3, cells: ['b'] },
  ]
  assert.deepEqual(await readCsv('a\n\nb\n'), { rows: [a, b], total: 2 })
  assert.deepEqual(await parseCsv(`a${'\n'.repeat(20_000)}b`), [['a'], ['b']])
  const many = await readCsv('a\n\n'.repeat(10_002))
  assert.ok(typeof many !== 'number')
  assert.deepEqual([many.rows.length, many.rows.at(-1), many.total], [10_000, { number: 19_999, cells: ['a'] }, 10_002])
})

test('parses semicolons and tabs between cells', async () => {
  const rowsOf = (...cells: string[]) => ({ rows: [{ number: 1, cells }], total: 1 })
  assert.deepEqual(await readCsv('a;"b;c";d,e', ';'), rowsOf('a', 'b;c', 'd,e'))
  assert.deepEqual(await readCsv('a\t\tb;c\r\n', '\t'), rowsOf('a', '', 'b;c'))
})

test('lets other work run while it parses a long text', async () => {
  let isDone = false
  let ticks = 0
  const count = () => {
    ticks += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const rows = await parseCsv(','.repeat(1024 * 1024))
  isDone = true
  assert.equal(rows?.[0]?.length, 1024 * 1024 + 1)
  assert.ok(ticks > 2, `${ticks} ticks`)
})
