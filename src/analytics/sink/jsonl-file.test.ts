import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { clickOf, clicksOf } from '../../../test/click-rows.ts'
import { newFolder } from '../../../test/processes.ts'
import { fileOfProcess, jsonlFileSink } from './jsonl-file.ts'
import { formatBatch, SinkFailure } from './sink.ts'

const { signal } = new AbortController()
const first = { id: 'first', rows: clicksOf(1, 3) }
const second = { id: 'second', rows: clicksOf(4, 5) }
const [firstLines, secondLines] = [formatBatch(first), formatBatch(second)]

function newFile(t: TestContext, content?: string): string {
  const file = join(newFolder(t), 'clicks.jsonl')
  if (content !== undefined) writeFileSync(file, content)
  return file
}

test('writes a line per click with its batch id and number, and creates the folders', async (t) => {
  const file = join(newFolder(t), 'new', 'folder', 'clicks.jsonl')
  const sink = jsonlFileSink(file)
  await sink.send(first, signal)
  await sink.send(second, signal)
  const lines = readFileSync(file, 'utf8').split('\n')
  assert.equal(lines.pop(), '')
  const expected = [first, second].flatMap(({ id, rows }) => rows.map((click, row) => ({ batch: id, row, ...click })))
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    expected,
  )
})

test('completes a repeated batch, whatever part of it was written', async (t) => {
  const file = newFile(t)
  const whole = Buffer.from(firstLines + secondLines)
  for (let length = Buffer.byteLength(firstLines); length <= whole.length; length++) {
    writeFileSync(file, whole.subarray(0, length))
    await jsonlFileSink(file).send(second, signal)
    assert.ok(readFileSync(file).equals(whole), `cut at ${length}`)
  }
})

test('completes the only batch of a file', async (t) => {
  const file = newFile(t, firstLines)
  truncateSync(file, 20)
  await jsonlFileSink(file).send(first, signal)
  assert.equal(readFileSync(file, 'utf8'), firstLines)
})

test('keeps an incomplete line of another batch separate', async (t) => {
  const cut = firstLines.slice(0, -10)
  const file = newFile(t, cut)
  await jsonlFileSink(file).send(second, signal)
  assert.equal(readFileSync(file, 'utf8'), `${cut}\n${secondLines}`)
})

test('writes a repeated batch again after another batch, with the same id', async (t) => {
  const file = newFile(t, firstLines + secondLines)
  await jsonlFileSink(file).send(first, signal)
  assert.equal(readFileSync(file, 'utf8'), firstLines + secondLines + firstLines)
})

test('creates a new file after a rename', async (t) => {
  const file = newFile(t)
  const sink = jsonlFileSink(file)
  await sink.send(first, signal)
  renameSync(file, `${file}.1`)
  await sink.send(second, signal)
  assert.equal(readFileSync(file, 'utf8'), secondLines)
})

test("rejects the batch with a sentence if the file can't be written", async (t) => {
  const file = newFile(t)
  mkdirSync(file)
  await assert.rejects(jsonlFileSink(file).send(first, signal), (error) => {
    assert.ok(error instanceof SinkFailure)
    assert.match(error.message, /^The file \S+clicks\.jsonl takes no clicks: EISDIR.*\.$/)
    return true
  })
})

test('stores text of any script unchanged', async (t) => {
  const file = newFile(t)
  const rows = [{ ...clickOf(1), referrer: '例え.テスト "\n\u2028' }]
  await jsonlFileSink(file).send({ id: 'third', rows }, signal)
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).referrer, rows[0]?.referrer)
})

test('names a separate file for each process', () => {
  assert.equal(fileOfProcess('data/clicks.jsonl', 0), 'data/clicks.jsonl')
  assert.equal(fileOfProcess('data/clicks.jsonl', 2), 'data/clicks.2.jsonl')
  assert.equal(fileOfProcess('/clicks', 1), '/clicks.1')
})
