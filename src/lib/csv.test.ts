import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvParts, csvRow, parseCsv } from './csv.ts'

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

test('parses what it writes, with either line break, and skips empty lines', () => {
  const rows = [
    ['a', 'b,"c"', "'=x", '=1', "''+"],
    ['two\r\nlines', '', "it's", '-', ''],
  ]
  assert.deepEqual(parseCsv(rows.map((row) => csvRow(row)).join('\r\n')), rows)
  assert.deepEqual(parseCsv('a,b\n\n1,\n,2'), [
    ['a', 'b'],
    ['1', ''],
    ['', '2'],
  ])
  assert.deepEqual(parseCsv('a,'), [['a', '']])
  for (const text of ['"a', '"a"b', 'a"b', 'a\rb']) assert.equal(parseCsv(text), undefined, text)
})
