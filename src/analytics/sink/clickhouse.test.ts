import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { clickOf, clicksOf } from '../../../test/click-rows.ts'
import { type Manner, realClickHouse, runOn, startClickHouse } from '../../../test/clickhouse.ts'
import { freePort } from '../../../test/processes.ts'
import { repository } from '../../../test/scripts.ts'
import { listenOn, tls } from '../../../test/servers.ts'
import { clickHouseSink } from './clickhouse.ts'
import { SinkFailure, Unconfirmed } from './sink.ts'

const { signal } = new AbortController()
const batchOf = (rows = clicksOf(1, 3)) => ({ id: randomUUID(), rows })

/** The sentence with which a batch is refused. */
async function refusal(sent: Promise<void>): Promise<string> {
  const error = await sent.then(
    () => assert.fail('it was taken'),
    (error) => error,
  )
  assert.ok(error instanceof SinkFailure)
  assert.match(error.message, /^[^\n]+[^.]\.$/)
  return error.message
}

test('inserts a batch with its id as the token', async (t) => {
  const server = await startClickHouse(t)
  const batch = batchOf()
  await clickHouseSink(server.table).send(batch, signal)
  const expected = batch.rows.map((click, row) => ({ batch: batch.id, row, ...click }))
  assert.deepEqual(server.rows, expected)
  assert.equal(server.inserts.length, 1)
  const { searchParams } = new URL(server.inserts[0]?.url ?? '', server.table.url)
  assert.equal(searchParams.get('insert_deduplication_token'), batch.id)
  assert.deepEqual(
    searchParams.get('query'),
    `INSERT INTO clicks (${Object.keys(expected[0] ?? {}).join(', ')}) FORMAT JSONEachRow`,
  )
})

test('stores a batch once if its response is lost', async (t) => {
  const server = await startClickHouse(t)
  const [sink, batch] = [clickHouseSink(server.table), batchOf()]
  server.manner = 'breaks'
  assert.match(await refusal(sink.send(batch, signal)), /^ClickHouse at \S+ does not respond: /)
  server.manner = 'answers'
  await sink.send(batch, signal)
  assert.equal(server.inserts.length, 2)
  assert.equal(server.rows.length, 3)
})

test('reports the first line of an error', async (t) => {
  const { table } = await startClickHouse(t)
  const sentence = await refusal(clickHouseSink({ ...table, table: 'kliks' }).send(batchOf(), signal))
  const said = "404 Code: 60. DB::Exception: Table doesn't exist. (UNKNOWN_TABLE) (version 25.8)"
  assert.equal(sentence, `ClickHouse at ${table.url} takes no clicks: ${said}.`)
})

test('hides the password even if the server repeats it', async (t) => {
  const { table } = await startClickHouse(t)
  const sentence = await refusal(clickHouseSink({ ...table, password: 'hünter2' }).send(batchOf(), signal))
  assert.match(sentence, /403 .* Authentication failed: \*\*\* is wrong\.$/)
  assert.match(
    await refusal(clickHouseSink({ ...table, password: '' }).send(batchOf(), signal)),
    /failed: {2}is wrong\.$/,
  )
})

for (const [manner, sentence] of [
  ['late error', /takes no clicks: 200 Code: 241\. DB::Exception: Memory limit exceeded\.$/],
  ['other server', /takes no clicks: the answer, 200, is not one of ClickHouse\.$/],
  ['redirects', /does not respond: unexpected redirect\.$/],
  ['silent', /does not respond: The operation was aborted due to timeout\.$/],
] as const satisfies readonly (readonly [Manner, RegExp])[]) {
  test(`rejects the batch if the server behaves like this: ${manner}`, async (t) => {
    const server = await startClickHouse(t)
    server.manner = manner
    const timeoutMs = manner === 'silent' ? 200 : undefined
    assert.match(await refusal(clickHouseSink(server.table, timeoutMs).send(batchOf(), signal)), sentence)
    assert.deepEqual(server.rows, [])
  })
}

test('names NODE_EXTRA_CA_CERTS if this machine does not trust the certificate', async (t) => {
  const port = await listenOn(t, createServer(tls))
  const { table } = await startClickHouse(t)
  const url = `https://127.0.0.1:${port}`
  const reason = /doesn't trust its TLS certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. Set NODE_EXTRA_CA_CERTS to a file/
  assert.match(await refusal(clickHouseSink({ ...table, url }).send(batchOf(), signal)), reason)
})

test('treats a batch as unconfirmed without the headers of ClickHouse', async (t) => {
  const server = await startClickHouse(t)
  server.manner = 'no headers'
  await assert.rejects(clickHouseSink(server.table).send(batchOf(), signal), (error) => {
    assert.ok(error instanceof Unconfirmed)
    assert.equal(
      error.message,
      `ClickHouse at ${server.table.url} accepts clicks, but its responses have no X-ClickHouse-* headers: a proxy may remove them.`,
    )
    return true
  })
  assert.equal(server.rows.length, 3)
})

for (const [error, isTooOld] of [
  ['Code: 115, e.displayText() = DB::Exception: Unknown setting async_insert, e.what() = DB::Exception', true],
  [
    "Code: 115. DB::Exception: Unknown setting 'insert_deduplication_token'. (UNKNOWN_SETTING) (version 22.1.4.30)",
    true,
  ],
  ['Code: 62. DB::Exception: Syntax error. (version 21.8.15.7 (official build))', true],
  ['Code: 115. DB::Exception: Unknown setting x. (UNKNOWN_SETTING) (version 22.2.2.1)', false],
  ['Code: 60. DB::Exception: Table is missing. (version 22.10.1.1)', false],
  ['Code: 1150. DB::Exception: Else', false],
] as const) {
  test(`an error ${isTooOld ? 'names' : "doesn't name"} the required version: ${error}`, async (t) => {
    const server = await startClickHouse(t)
    server.error = `${error}\nstack`
    const sentence = await refusal(clickHouseSink(server.table).send(batchOf(), signal))
    assert.ok(sentence.includes(error))
    assert.equal(sentence.endsWith(' Waymark requires ClickHouse 22.2 or newer.'), isTooOld)
  })
}

test('rejects the batch if there is no server', async (t) => {
  const { table } = await startClickHouse(t)
  const away = { ...table, url: `http://127.0.0.1:${await freePort()}` }
  assert.match(
    await refusal(clickHouseSink(away).send(batchOf(), signal)),
    /does not respond: connect ECONNREFUSED .*\.$/,
  )
})

test('ends an insert immediately when it is aborted', async (t) => {
  const server = await startClickHouse(t)
  server.manner = 'silent'
  const abort = new AbortController()
  const sent = refusal(clickHouseSink(server.table).send(batchOf(), abort.signal))
  abort.abort()
  assert.match(await sent, /does not respond: This operation was aborted\.$/)
})

const real = realClickHouse()

test('runs the table and queries of docs/raw-clicks.md on a real ClickHouse, and stores a batch once', {
  skip: real === null ? 'TEST_CLICKHOUSE_URL names no server (clickhouse://user:password@host:8123/database)' : false,
}, async (t) => {
  assert.ok(real)
  const document = readFileSync(join(repository, 'docs/raw-clicks.md'), 'utf8')
  const table = `waymark_test_${randomUUID().replaceAll('-', '')}`
  const statements = [...document.matchAll(/^```sql\n(.*?)^```/gms)].flatMap(([, sql = '']) => sql.split(/;$/m))
  const own = statements
    .map((sql) => sql.replace(/\b(TABLE|FROM) clicks\b/g, `$1 ${table}`))
    .filter((sql) => sql.trim())
  const [definition = '', ...queries] = own
  await runOn(real, definition)
  t.after(() => runOn(real, `DROP TABLE ${table}`))

  const sink = clickHouseSink({ ...real, table })
  const [one, two] = [batchOf(), batchOf([{ ...clickOf(4), country: null, class: 'bot', is_unique: false }])]
  for (const batch of [one, two, one, one]) await sink.send(batch, signal)
  const kept = `SELECT link_id, at, class, country, toUInt8(is_unique) FROM ${table} ORDER BY link_id`
  const person = '2026-11-22 12:00:00\tperson\tCH\t1\n'
  assert.equal(await runOn(real, kept), `1\t${person}2\t${person}3\t${person}4\t2026-11-22 12:00:00\tbot\t\\N\t0\n`)
  for (const query of queries) await runOn(real, query)
  assert.match(await refusal(clickHouseSink({ ...real, table: 'missing' }).send(batchOf(), signal)), /missing/)
})
