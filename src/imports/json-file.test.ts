import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { failureOf, readText } from '../../test/import-files.ts'
import { readJson } from './json-file.ts'

async function recordsOf(file: string, chunk = 1000) {
  async function* parts() {
    for (let at = 0; at < file.length; at += chunk) yield file.slice(at, at + chunk)
  }
  const records = []
  for await (const batch of readJson(parts())) records.push(...batch)
  return records
}

test('reads back records in an array, in lines and in pages, in parts of any length', async () => {
  const value = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null))
  const record = fc.dictionary(fc.constantFrom('url', 'alias', 'tags', '"\\'), fc.oneof(value, fc.array(value)))
  await fc.assert(
    fc.asyncProperty(fc.array(record), fc.integer({ min: 1, max: 20 }), async (records, chunk) => {
      const written = records.map((each) => ({ ...each }))
      for (const file of [JSON.stringify(records), records.map((each) => `${JSON.stringify(each)}\r\n`).join('')]) {
        const read = (await recordsOf(file, chunk)).map((each) => ({ ...each, value: { ...each.value } }))
        assert.deepEqual(
          read,
          written.map((each) => ({ list: '', value: each, isPage: false })),
        )
      }
      const pages = await recordsOf(
        JSON.stringify([{ data: records, total: 1 }, { links: { ...records } }], null, 1),
        chunk,
      )
      const listed = [...written.map((each) => ['data', each]), ...written.map((each) => ['links', each])]
      assert.deepEqual(
        pages.filter(({ isPage }) => !isPage).map((each) => [each.list, { ...each.value }]),
        listed,
      )
      assert.deepEqual(pages.find(({ isPage }) => isPage)?.value.total, 1)
    }),
  )
})

test('drops control characters, and keeps escaped ones', async () => {
  assert.deepEqual((await recordsOf('{"a":"b\u0001\n\tc\\n",\n\n"d":\r\n1}'))[0]?.value, { a: 'bc\n', d: 1 })
})

for (const [place, file] of [
  ['line 1, column 15', '[{"links":[1]]}'.replace('1]]', '1}]')],
  ['line 2, column 9', '[{"a":"é"},\n{"é": "é" "b"}]'],
  ['line 1, column 3', '{}}'],
] as const) {
  test(`names the place in ${JSON.stringify(file)}`, async () => {
    assert.match(await failureOf(file), new RegExp(`^malformed_body: The file can’t be read at ${place.slice(0, 6)}`))
  })
}

test('bounds the depth', async () => {
  assert.match(await failureOf('['.repeat(1_000_000)), /^malformed_body: .* at line 1, column 65: this is not JSON/)
  assert.equal(
    await failureOf(`[${'{"a":'.repeat(60)}1${'}'.repeat(60)}]`),
    'source unknown_format: The file matches no known format. It has: a. Choose another source, or send source=csv with columns.',
  )
})

for (const [what, file] of [
  ['elements', `[${'[],'.repeat(200_000)}1]`],
  ['values of a record', `[{"tags":[${'1,'.repeat(300_000)}1]}]`],
  ['records in an unknown list', `{"unknown":[${'{},'.repeat(200_000)}1]}`],
] as const) {
  test(`bounds the memory for ${what}`, async () => {
    assert.match(
      await failureOf(file),
      /^malformed_body: .* at line 1, column 5000\d\d: a record before this place has too many/,
    )
  })
}

test('reads any number of records', async () => {
  assert.equal((await recordsOf(`[${'{"a":1},'.repeat(200_000)}{}]`, 65_536)).length, 200_001)
})

test('bounds the memory for a number', async () => {
  assert.deepEqual((await recordsOf(`{"a":${'1'.repeat(4_000_000)}}`, 65_536))[0]?.value, {
    a: Number.POSITIVE_INFINITY,
  })
})

for (const file of ['{"a":"b"', '[{"a":1}', '[{"a":1},', '{"a":"b', '[']) {
  test(`says that the JSON ends too early in ${file}`, async () => {
    assert.match(
      await failureOf(file),
      new RegExp(`^malformed_body: .* at line 1, column ${file.length + 1}: the JSON ends too early`),
    )
  })
}

test('finds page lists after keys with other objects', async () => {
  const file = JSON.stringify({ meta: { links: [{ url: 'x' }] }, data: [], pages: [{ data: [{ a: 1 }] }] })
  assert.equal(await failureOf(file), 'body required: The file has no rows with links.')
})

test('reads a file of several pages, of which the first are empty', async () => {
  const row = { slashtag: 'a', destination: 'https://tea.example/', shortUrl: 'sip.example/a' }
  const { rows } = await readText(`{"links":[]}\n${JSON.stringify([row])}`)
  assert.deepEqual(rows.length, 1)
})
