import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvRow } from './csv.ts'

test('quotes cells with commas, quotes and line breaks, and leaves null empty', () => {
  assert.equal(
    csvRow(['a,b', 'say "hi"', 'two\r\nlines', null, 'ä', 0.5, -1]),
    '"a,b","say ""hi""","two\r\nlines",,ä,0.5,-1\r\n',
  )
})

test('escapes formulas with an apostrophe', () => {
  for (const value of ['=1+1', '+1', '-x.example', '@x', '\tx', '\rx']) {
    assert.equal(csvRow([value]), value.startsWith('\r') ? `"'${value}"\r\n` : `'${value}\r\n`)
  }
})
