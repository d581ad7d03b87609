import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { failureOf } from '../../test/import-files.ts'
import { readSql, type SqlRow } from './sql-file.ts'

async function rowsOf(file: string, chunk = 1000): Promise<SqlRow[]> {
  async function* parts() {
    for (let at = 0; at < file.length; at += chunk) yield file.slice(at, at + chunk)
  }
  const rows: SqlRow[] = []
  for await (const batch of readSql(parts())) rows.push(...batch)
  return rows
}

const quoted = {
  mysql: (text: string) => {
    const escapes: Readonly<Record<string, string>> = { '\n': '\\n', "'": "\\'", '\\': '\\\\', '\t': '\\t', '"': '\\"' }
    return `'${text.replace(/[\n'\\\t"]/g, (each) => escapes[each] ?? each)}'`
  },
  standard: (text: string) => `'${text.replaceAll("'", "''")}'`,
}

for (const [dialect, head] of [
  ['mysql', 'INSERT INTO `a-b` (`x`, `y z`) VALUES '],
  ['standard', '-- PostgreSQL database dump\n\nINSERT INTO public.t (x, y) VALUES '],
] as const) {
  test(`reads back every value of a ${dialect} dump, in parts of any length`, async () => {
    const text = fc.string({ unit: fc.constantFrom(...'a\'"\\`\n\t,;()-/*#$é😀'), maxLength: 8 })
    const value = fc.oneof(fc.constant(null), text)
    const rows = fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 30 }), async (written, chunk) => {
        const write = (each: string | null) => (each === null ? 'NULL' : quoted[dialect](each))
        const file = `${head}${written.map((row) => `(${row.map(write).join(',')})`).join(',\n')};\nSELECT 1;`
        assert.deepEqual(
          (await rowsOf(file, chunk)).map(({ values }) => values),
          written,
        )
      }),
    )
  })
}

test('takes the columns from CREATE TABLE if the statement does not name them', async () => {
  const file = `/*!40101 SET NAMES utf8 */;
CREATE TABLE IF NOT EXISTS \`yourls\`.\`url\` (
  \`keyword\` varchar(100) COLLATE utf8_bin NOT NULL DEFAULT '', -- it's a key
  \`key\` enum('a','b)') NOT NULL,
  price decimal(10,2), # of the link
  PRIMARY KEY (\`keyword\`),
  KEY \`price\` (\`price\`)
) ENGINE=InnoDB;
LOCK TABLES \`url\` WRITE;
REPLACE INTO url VALUES ('a', 'b', -1.50),(0x41, NOW(), NULL) ON DUPLICATE KEY UPDATE price = 1;
UNLOCK TABLES;`
  assert.deepEqual(await rowsOf(file), [
    { table: 'url', columns: ['keyword', 'key', 'price'], values: ['a', 'b', '-1.50'], line: 10 },
    { table: 'url', columns: ['keyword', 'key', 'price'], values: ['0x41', 'NOW', null], line: 10 },
  ])
})

test('reads what PostgreSQL and SQLite write around values', async () => {
  const file = `SET standard_conforming_strings = on;
CREATE FUNCTION f() RETURNS text AS $body$ SELECT 'it''s; $1'; $body$;
INSERT INTO public."Links" ("id", "a""b") OVERRIDING SYSTEM VALUE VALUES (1, E'a\\'b\\n'), ('c\\', '{"a": 1}'::jsonb);
INSERT INTO archive SELECT * FROM t;
INSERT OR IGNORE INTO t(a) VALUES(true);`
  const rows = await rowsOf(file)
  assert.deepEqual(
    rows.map(({ table, columns, values }) => ({ table, columns, values })),
    [
      { table: 'Links', columns: ['id', 'a"b'], values: ['1', "a'b\n"] },
      { table: 'Links', columns: ['id', 'a"b'], values: ['c\\', '{"a": 1}'] },
      { table: 't', columns: ['a'], values: ['true'] },
    ],
  )
  for (let chunk = 1; chunk < 40; chunk++) assert.deepEqual(await rowsOf(file, chunk), rows)
})

test('reads backslashes in a SQLite dump unchanged', async () => {
  const file = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nINSERT INTO t(a,b) VALUES('c:\\','d');"
  assert.deepEqual((await rowsOf(file))[0]?.values, ['c:\\', 'd'])
})

for (const [problem, file] of [
  ['line 2, column 3: a quote or a comment is never closed', "INSERT INTO t (a) VALUES\n ('x),\n"],
  ['line 1, column 28: the row has 1 values for 2 columns', 'INSERT INTO t (a,b) VALUES (1);'],
  ['line 1, column 27: the row is not complete', 'INSERT INTO t (a) VALUES (;'],
  ['line 1, column 27: the row is not complete', 'INSERT INTO t (a) VALUES ('],
  ['line 1, column 25: the statement ends too early', 'INSERT INTO t (a) VALUES'],
  ['line 1, column 17: the statement ends too early', 'INSERT INTO t (a'],
  ['line 1, column 24: the statement ends too early', 'CREATE TABLE t (a INTEGER'.slice(0, 23)],
] as const) {
  test(`names the place in ${JSON.stringify(file)}`, async () => {
    const failure = await failureOf(file, { type: 'sql' })
    assert.equal(failure, `malformed_body: The file can’t be read at ${problem}. Create the dump again.`)
  })
}

test('bounds the memory for a quote that is never closed', async () => {
  const file = `INSERT INTO t (a) VALUES ('${'x'.repeat(5_000_000)}`
  assert.match(await failureOf(file), /line 1, column 26: the row is longer than 1 MiB/)
})

for (const [what, file] of [
  ['tables', (at: number) => `INSERT INTO t${at}(a) VALUES(1);`],
  ['definitions', (at: number) => `CREATE TABLE t${at}(a int);`],
  ['columns', (at: number) => (at === 0 ? 'INSERT INTO t (a' : ',a')],
] as const) {
  test(`bounds the memory for hundreds of thousands of ${what}`, async () => {
    const text = Array.from({ length: 300_000 }, (_, at) => file(at)).join('')
    const problem = 'the file names more than 100,000 tables and columns, but Waymark needs only the tables with links'
    assert.match(await failureOf(text, { type: 'sql' }), new RegExp(`^malformed_body: .*: ${problem}`))
    assert.match(await failureOf(`INSERT INTO links (url) VALUES ('x');${text}`), new RegExp(problem))
  })
}

for (const [what, text] of [
  ['escaped quotes', "\\'"],
  ['pairs of quotes', "''"],
  ['backslashes', '\\\\'],
] as const) {
  test(`returns 400 for a value with millions of ${what}, and reads one of half a megabyte`, async () => {
    const rowOf = (length: number) =>
      `INSERT INTO t (a) VALUES\n(1),\n('${text.repeat(length / text.length)}'),(2);\n-- end`
    assert.match(await failureOf(rowOf(7_000_000), { type: 'sql' }), /line 3, column 1: the row is longer than 1 MiB/)
    const [, long, last] = await rowsOf(rowOf(500_000), 64_000)
    assert.deepEqual([long?.values[0]?.length, last?.values], [250_000, ['2']])
  })
}

test('reads millions of comments between statements', async () => {
  const file = `${'-- a\n'.repeat(150_000)}INSERT INTO t (a) VALUES (1);`
  assert.equal((await rowsOf(file, 64_000)).length, 1)
})

for (const [what, file] of [
  ['comments', `INSERT INTO t (a) VALUES (1);\n${'/* '.repeat(1_000_000)}`],
  ['dollar quotes', `PRAGMA x;\n${Array.from({ length: 300_000 }, (_, at) => `$t${at}$`).join(' ')}`],
] as const) {
  test(`reads ${what} that are never closed once`, { timeout: 120_000 }, async () => {
    assert.match(await failureOf(file, { type: 'sql' }), /line 2, column 1: a quote or a comment is never closed/)
  })
}

test('reads a slash and a dollar sign between other tokens', async () => {
  const file = 'SET x = 4 / 2, y = $;\nINSERT INTO t (a) VALUES (1);'
  assert.deepEqual(await rowsOf(file), [{ table: 't', columns: ['a'], values: ['1'], line: 2 }])
})

test('names pg_dump --column-inserts for COPY statements', async () => {
  assert.equal(
    await failureOf('-- PostgreSQL database dump\nCOPY public.links (id) FROM stdin;\n1\n\\.\n'),
    'source unknown_format: The dump has COPY statements. Create it with pg_dump --column-inserts, which writes INSERT statements.',
  )
})

test('asks for names of columns if no statement has them', async () => {
  assert.match(
    await failureOf("INSERT INTO t VALUES ('a');"),
    /^source unknown_format: The INSERT statements do not name/,
  )
})
