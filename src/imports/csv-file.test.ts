import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { failureOf, readText } from '../../test/import-files.ts'
import { csvRow } from '../lib/csv.ts'

const aliases = { generateAliases: true } as const

async function cellsOf(file: string | Uint8Array, chunkBytes?: number) {
  return (await readText(file, aliases, chunkBytes)).cells
}

test('reads back every row that a spreadsheet writes, in chunks of any size', async () => {
  const cell = fc.string({ unit: fc.constantFrom(...'ab\'"=+,;\t\r\n é😀'), maxLength: 6 })
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 50 }), async (written, chunkBytes) => {
      const filled = [...written, ['x', 'y', 'z']].filter((row) => row.some((each) => each.trim() !== ''))
      const file = csvRow(['url', 'title', 'notes']) + filled.map((row) => csvRow(row)).join('')
      assert.deepEqual(await cellsOf(file, chunkBytes), filled)
    }),
  )
})

for (const [name, separator] of [
  ['commas', ','],
  ['semicolons', ';'],
  ['tabs', '\t'],
] as const) {
  for (const end of ['\n', '\r\n', '\r']) {
    test(`reads cells with ${name} between them, and lines that end in ${JSON.stringify(end)}`, async () => {
      const line = (...cells: string[]) => cells.join(separator) + end
      const file = line('url', '"a, b; c"', 'notes') + line('u', '"1,5"', '"two', 'lines"') + end + line('v', '2')
      const lines = file.replace(`two${separator}lines`, `two${end}lines`)
      const { cells, rows, columns } = await readText(`\ufeff${lines}`, aliases)
      assert.deepEqual(cells, [
        ['u', '1,5', `two${end}lines`],
        ['v', '2'],
      ])
      assert.deepEqual(
        rows.map((row) => row.line),
        [2, 5],
      )
      assert.equal(columns[1]?.name, 'a, b; c')
    })
  }
}

test('skips blank lines, lines of separators and the line in which Excel names the separator', async () => {
  const { rows, cells } = await readText('sep=;\r\n\r\nurl;title\r\n;;\r\n \r\nu;t\r\n', aliases)
  assert.deepEqual(cells, [['u', 't']])
  assert.deepEqual(rows[0]?.line, 6)
})

test('keeps a quote that does not start a cell, or has text after its closing quote', async () => {
  const file = 'url,title\nu,5" disk\nv,"say ""hi"""\nw,"a" b\nx,"27 inch\ny,"27"\n'
  for (const size of [1, 1_000]) {
    assert.deepEqual(await cellsOf(file, size), [
      ['u', '5" disk'],
      ['v', 'say "hi"'],
      ['w', '"a" b'],
      ['x', '"27 inch'],
      ['y', '27'],
    ])
  }
})

test('refuses a row with more cells than columns, and takes missing cells for empty ones', async () => {
  const { rows, cells } = await readText('alias,url,title\na,u,t,,more,x\nb\nc,u,t,,\n')
  assert.deepEqual(cells, [['a', 'u', 't', 'more'], ['b'], ['c', 'u', 't']])
  assert.deepEqual(
    rows.map(({ refusal, fields }) => [refusal?.code ?? null, fields.url, fields.title]),
    [
      ['extra_cells', 'u', 't'],
      [null, '', ''],
      [null, 'u', 't'],
    ],
  )
  assert.equal(
    rows[0]?.refusal?.message,
    'The row has more cells than the 3 columns. Put cells with separators in double quotes.',
  )
})

test('names the line and the column of a quote that is never closed', async () => {
  assert.equal(
    await failureOf('alias,url\na,u\n\nb,"u\nc,u\n'),
    'malformed_body: The file can’t be read at line 4, column 2: a quote in this row is never closed. Put one quote before and after a cell, and double the quotes within it.',
  )
  const long = `alias,url\na,"${'x'.repeat(1_100_000)}"\n`
  assert.match(await failureOf(long), /^malformed_body: .* line 2, column 2: the row is longer than 1 MiB/)
})

test('bounds the number of columns', async () => {
  assert.match(await failureOf(`url,alias${',x'.repeat(499)}\n`), /^malformed_body: .*line 1.*more than 500 cells/)
})

test('bounds the memory for empty cells', async () => {
  const file = `alias,url\na,u\nb,u${','.repeat(5_000_000)}\n`
  assert.match(await failureOf(file), /^malformed_body: .* line 3, column 1: the row has more than 10000 cells/)
})

test('advises to save files in UTF-16 and in encodings of Windows as UTF-8', async () => {
  const utf16 = Buffer.from('\ufeffurl,alias\n', 'utf16le')
  for (const file of [utf16, Buffer.from(utf16).swap16(), Buffer.from('url,alias\n', 'utf16le')]) {
    assert.match(await failureOf(file), /^malformed_body: .* line 1, column 1: it is in UTF-16\. Save it as UTF-8/)
  }
  assert.match(
    await failureOf(Buffer.from('url,alias\nu,caf\xe9\n', 'latin1')),
    /^malformed_body: .*line 2, column 6: the bytes are not UTF-8\. Save it as UTF-8/,
  )
})

test('says how to convert Excel files and compressed dumps', async () => {
  for (const start of [
    [0x50, 0x4b, 3, 4],
    [0x1f, 0x8b],
  ]) {
    assert.match(
      await failureOf(Uint8Array.from(start)),
      /^malformed_body: .*it is an Excel file or compressed\. Unpack/,
    )
  }
})

test('reads characters across the chunks of a file', async () => {
  for (let size = 1; size < 12; size++) assert.deepEqual(await cellsOf('url,title\nu,é😀ß\n', size), [['u', 'é😀ß']])
})

test('reads a list of URLs without a header', async () => {
  const { columns, rows } = await readText('https://tea.example/a,b\n\nmailto:a@tea.example\n', aliases)
  assert.deepEqual(columns, [{ name: 'url', field: 'url' }])
  assert.deepEqual(
    rows.map(({ line, fields, addresses }) => [line, fields.url, addresses]),
    [
      [1, 'https://tea.example/a,b', []],
      [3, 'mailto:a@tea.example', []],
    ],
  )
})
