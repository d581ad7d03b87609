import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvParts, csvRow } from './csv.ts'

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
