import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const sinkOf = (env: Record<string, string>) => readConfig(env).clicksSink
const table = { kind: 'clickhouse', user: 'default', password: '', database: 'default', table: 'clicks' }

/** Returns the error for each invalid variable. */
function errorsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

test('has no sink by default', () => {
  for (const env of [{}, { CLICKS_SINK: ' ' }, { CLICKS_SPOOL: 'a', CLICKS_SPOOL_MAX: '1' }]) {
    assert.equal(sinkOf(env), null)
  }
})

test('accepts a file, and puts the spool next to the database', () => {
  assert.deepEqual(sinkOf({ CLICKS_SINK: 'jsonl:out/clicks.jsonl', DATABASE_URL: 'sqlite:/srv/waymark.db' }), {
    target: { kind: 'jsonl', path: 'out/clicks.jsonl' },
    spool: '/srv/waymark.db-clicks-spool',
    spoolBytes: 1_000_000_000,
  })
})

test('uses the folder in CLICKS_SPOOL, or data/clicks-spool with PostgreSQL', () => {
  const env = { CLICKS_SINK: 'jsonl:clicks.jsonl', DATABASE_URL: 'postgres://localhost/waymark' }
  assert.equal(sinkOf(env)?.spool, 'data/clicks-spool')
  assert.equal(sinkOf({ ...env, CLICKS_SPOOL: '/var/spool/clicks' })?.spool, '/var/spool/clicks')
})

test('divides the megabytes of CLICKS_SPOOL_MAX among the processes', () => {
  const env = { CLICKS_SINK: 'jsonl:clicks.jsonl', CLICKS_SPOOL_MAX: '20', WORKERS: '3' }
  assert.equal(sinkOf(env)?.spoolBytes, 6_666_666)
})

for (const [text, target] of [
  ['clickhouse://db.example', { url: 'http://db.example:8123' }],
  ['ClickHouse://db.example/', { url: 'http://db.example:8123' }],
  ['clickhouse://db.example?secure=1', { url: 'https://db.example:8443' }],
  ['clickhouse://db.example:443?secure=1', { url: 'https://db.example' }],
  [
    'clickhouse://[::1]:9123/stats?table=raw_clicks',
    { url: 'http://[::1]:9123', database: 'stats', table: 'raw_clicks' },
  ],
  ['clickhouse://waymark@db.example', { url: 'http://db.example:8123', user: 'waymark' }],
  [
    'clickhouse://way%40mark:p%C3%BC%2F%25@db.example',
    { url: 'http://db.example:8123', user: 'way@mark', password: 'pü/%' },
  ],
] as const) {
  test(`accepts ${text}`, () => assert.deepEqual(sinkOf({ CLICKS_SINK: text })?.target, { ...table, ...target }))
}

for (const [texts, sentence] of [
  [
    ['clicks.jsonl', 'jsonl:', 'jsonl:data/', 'jsonl:a\0b', 'https://db.example', 'on'],
    /^CLICKS_SINK must be a file, such as jsonl:\S+, or a ClickHouse server, such as clickhouse:\S+\.$/,
  ],
  [
    [
      ...['', '//', 'db.example', '//a b', '//u:hunter2@', '//u:hunter2@db/a/b', '//u:hunter2@db/a-b'],
      ...['//u:hunter2@db:99999', '//u:hunt@er2@db', '//u:hunter2#@db', '//u:hunter2%@db', '//u:hunter2%FF@db'],
      ...['//u:hunter2%0A@db', '//u%FF:hunter2@db'],
    ].map((rest) => `clickhouse:${rest}`),
    /^CLICKS_SINK must have the form clickhouse:\S+ Percent-encode [^\n]*\.$/,
  ],
  [['clickhouse://u:hunter2@db?tabel=a'], /^CLICKS_SINK has an unknown parameter: tabel\.$/],
  [['clickhouse://u:hunter2@db?secure=yes'], /^CLICKS_SINK has an invalid parameter: secure must be 0 or 1\.$/],
  [
    ['clickhouse://u:hunter2@db?table=a;b', 'clickhouse://u:hunter2@db?table='],
    /^CLICKS_SINK has an invalid parameter: table must be a table name\.$/,
  ],
] as const) {
  test(`CLICKS_SINK rejects ${texts[0]} with one sentence that has no password`, () => {
    for (const text of texts) {
      const errors = errorsOf({ CLICKS_SINK: text })
      assert.equal(errors.length, 1, text)
      assert.match(errors[0] ?? '', sentence, text)
      assert.doesNotMatch(errors[0] ?? '', /hunt/)
    }
  })
}

test('rejects invalid values of CLICKS_SPOOL and CLICKS_SPOOL_MAX', () => {
  assert.deepEqual(
    errorsOf({ CLICKS_SPOOL: 'a\0b', CLICKS_SPOOL_MAX: '1GB', DATABASE_URL: 'x', WORKERS: '0' }).length,
    4,
  )
  assert.match(errorsOf({ CLICKS_SPOOL: 'a\0b' }).join(), /^CLICKS_SPOOL must be the path of a folder, such as \S+\.$/)
  const sentence = 'CLICKS_SPOOL_MAX must be an integer from 1 to 1000000, not "0".'
  assert.deepEqual(errorsOf({ CLICKS_SPOOL_MAX: '0' }), [sentence])
})
