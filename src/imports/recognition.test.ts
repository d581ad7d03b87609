import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureOf, readText } from '../../test/import-files.ts'

const bitly = 'Link,Custom Link,Destination URL'

test('names both formats of a file that matches two', async () => {
  const failure = 'source ambiguous_format: The file matches two formats: bitly and dub. Send source with one of them.'
  assert.equal(await failureOf(`${bitly},Short link\na,b,c,d\n`), failure)
  const { source } = await readText(`${bitly},Short link\na,b,c,d\n`, { source: 'dub' })
  assert.equal(source, 'dub')
  const both = { long_url: 'u', custom_bitlinks: [], originalURL: 'u', path: 'a', shortURL: 'b' }
  assert.match(await failureOf(JSON.stringify({ links: [both] })), /ambiguous_format: .*bitly and short_io/)
})

test('names both formats of a dump with tables of two', async () => {
  const file = `INSERT INTO yourls_url (keyword, url, title, timestamp, ip, clicks) VALUES ('a','u','','2025-03-09','',1);
INSERT INTO links (id, address, target, visit_count) VALUES (1,'a','u',2);`
  assert.match(await failureOf(file, { timeZone: 'UTC' }), /ambiguous_format: .*yourls and kutt/)
})

for (const [file, seen] of [
  [`${bitly}\na,b,c\n`, 'Link, Custom Link, Destination URL'],
  ['{"data":[{"foo":1,"bar":2}]}', 'foo, bar'],
  ['INSERT INTO t (foo, bar) VALUES (1, 2);', 'foo, bar'],
  [`${Array.from({ length: 30 }, (_, at) => `c${at}`).join()}\n1\n`, /c19, …\. Choose another source/],
] as const) {
  test(`names the columns or keys in ${JSON.stringify(file.slice(0, 40))}`, async () => {
    const failure = await failureOf(file, { source: 'yourls' })
    if (seen instanceof RegExp) assert.match(failure, seen)
    else {
      assert.equal(
        failure,
        `source unknown_format: The file matches no known format. It has: ${seen}. Choose another source, or send source=csv with columns.`,
      )
    }
  })
}

test('does not take a file of another service for a table of any columns, unless the source is csv', async () => {
  const file = `${bitly}\nhttps://sip.example/a,,https://tea.example/\n`
  assert.equal((await readText(file)).source, 'bitly')
  assert.equal((await readText(file, { source: 'csv', columns: { 'Destination URL': 'url' } })).source, 'csv')
})

for (const file of [
  '',
  '\n\n',
  'url,alias\n',
  '[]',
  '{"links":[]}',
  '-- a dump without rows\n',
  'CREATE TABLE t (a INT);',
]) {
  test(`says that there are no rows in ${JSON.stringify(file)}`, async () => {
    assert.equal(await failureOf(file), 'body required: The file has no rows with links.')
  })
}

test('says that there are no rows in a file with clicks only', async () => {
  const visit = { date: '2025-03-09T07:15:00Z', userAgent: 'x', visitedUrl: 'https://sip.example/a' }
  assert.match(await failureOf(JSON.stringify({ visits: { data: [visit] } })), /^body required/)
})

test('believes the type of a file rather than its first character', async () => {
  const file = '[1],alias\nu,a\n'
  assert.match(await failureOf(file), /^malformed_body/)
  assert.equal((await readText(file, { type: 'csv', columns: { '[1]': 'url' } })).source, 'csv')
})

for (const [type, file] of [
  ['csv', 'Start date,url,alias\n'],
  ['csv', 'set name;url;alias\n'],
  ['json', ' {"links":'],
  ['sql', 'SET NAMES utf8;\ninsert into t (a) values (1'],
  ['sql', 'BEGIN;\nCREATE TABLE t (a'],
  ['sql', '/* a dump */ SELECT (1'],
] as const) {
  test(`takes ${JSON.stringify(file)} for ${type}`, async () => {
    assert.equal(await failureOf(file), await failureOf(file, { type }))
  })
}
