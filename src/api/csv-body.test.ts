import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { csvRow } from '../lib/csv.ts'
import { parseCsv } from './body.ts'

test('parses what the server writes, with either line break, and skips empty lines', async () => {
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
})

const quotes = 'Double the quotes within a cell, and put one before and after it.'

for (const [text, problem] of [
  ['a,b\n"1\n2",3\n\nx,"d', `In row 4, column 2, the quote in line 5 is never closed. ${quotes}`],
  ['"', `In row 1, column 1, the quote in line 1 is never closed. ${quotes}`],
  ['"a""', `In row 1, column 1, the quote in line 1 is never closed. ${quotes}`],
  ['"a"b,c', `In row 1, column 1, text follows the closing quote. ${quotes}`],
  [
    'a,b\rx,"27 inch\r\ny,z\nx,"27"',
    `In row 2, column 2, the quote in line 2 is closed in line 4, but text follows. ${quotes}`,
  ],
  [`a\n"${'""'.repeat(10_001)}"`, 'In row 2, column 1, the cell has more than 10,000 quotes. Shorten it.'],
] as const) {
  test(`names the cell that can't be read: ${text.slice(0, 40)}`, async () =>
    assert.equal(await parseCsv(text), problem))
}

/** Cells without the apostrophes and formulas that `csvRow` and the parser change. */
const plainCell = fc
  .array(fc.constantFrom('a', 'é', '"', '""', ',', ';', '\t', '\r', '\n', '\r\n', ' '), { maxLength: 6 })
  .map((parts) => `x${parts.join('')}`)
const cell = fc.oneof(plainCell, fc.constantFrom('', '""', '"x"', '",'))
/** Tables without rows that look empty. */
const tableOf = (cells: fc.Arbitrary<string>) =>
  fc.integer({ min: 2, max: 4 }).chain((width) => fc.array(fc.array(cells, { minLength: width, maxLength: width })))
const lineEnd = fc.constantFrom('\n', '\r\n', '\r')

test('reads any table that another program has written according to RFC 4180', async () => {
  const written = fc.tuple(tableOf(cell), lineEnd, fc.boolean(), fc.boolean())
  await fc.assert(
    fc.asyncProperty(written, async ([rows, end, isQuoted, endsLast]) => {
      const needsQuotes = (text: string) => isQuoted || /[",\r\n]/.test(text)
      const write = (text: string) => (needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text)
      const text = rows.map((cells) => cells.map(write).join(',')).join(end)
      assert.deepEqual(await parseCsv(endsLast ? text + end : text), rows)
    }),
    { numRuns: runs(500) },
  )
})

test('leaves out empty lines, and rows after the first 10,000', async () => {
  assert.deepEqual(await parseCsv('a\n\nb\n'), [['a'], ['b']])
  assert.deepEqual(await parseCsv(`a${'\n'.repeat(20_000)}b`), [['a'], ['b']])
  assert.equal((await parseCsv('a\n\n'.repeat(10_002))).length, 10_000)
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
  assert.ok(typeof rows !== 'string')
  assert.equal(rows[0]?.length, 1024 * 1024 + 1)
  assert.ok(ticks > 2, `${ticks} ticks`)
})
