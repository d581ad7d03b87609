import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { clickOf, clicksOf } from '../../../test/click-rows.ts'
import { newFolder } from '../../../test/processes.ts'
import { fileOfProcess, jsonlFileSink } from './jsonl-file.ts'
import { linesOf, SinkFailure } from './sink.ts'

const { signal } = new AbortController()
const first = { id: 'first', rows: clicksOf(1, 3) }
const second = { id: 'second', rows: clicksOf(4, 5) }
const [firstLines, secondLines] = [linesOf(first), linesOf(second)]

function newFile(t: TestContext, content?: string): string {
  const file = join(newFolder(t), 'clicks.jsonl')
  if (content !== undefined) writeFileSync(file, content)
  return file
}

test('each click is a line with the id of its batch and its number there, in a file whose folders are made', async (t) => {
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

test('a batch that was cut off anywhere is completed when it comes again', async (t) => {
  const file = newFile(t)
  const whole = Buffer.from(firstLines + secondLines)
  for (let length = Buffer.byteLength(firstLines); length <= whole.length; length++) {
    writeFileSync(file, whole.subarray(0, length))
    await jsonlFileSink(file).send(second, signal)
    assert.ok(readFileSync(file).equals(whole), `cut at ${length}`)
  }
})

test('a batch that is alone in the file and was cut off is completed, too', async (t) => {
  const file = newFile(t, firstLines)
  truncateSync(file, 20)
  await jsonlFileSink(file).send(first, signal)
  assert.equal(readFileSync(file, 'utf8'), firstLines)
})

test('what another batch left unfinished stays a line of its own', async (t) => {
  const cut = firstLines.slice(0, -10)
  const file = newFile(t, cut)
  await jsonlFileSink(file).send(second, signal)
  assert.equal(readFileSync(file, 'utf8'), `${cut}\n${secondLines}`)
})

test('a batch that comes again after another one is there twice, under one id', async (t) => {
  const file = newFile(t, firstLines + secondLines)
  await jsonlFileSink(file).send(first, signal)
  assert.equal(readFileSync(file, 'utf8'), firstLines + secondLines + firstLines)
})

test('a file that was renamed is followed by a new one', async (t) => {
  const file = newFile(t)
  const sink = jsonlFileSink(file)
  await sink.send(first, signal)
  renameSync(file, `${file}.1`)
  await sink.send(second, signal)
  assert.equal(readFileSync(file, 'utf8'), secondLines)
})

test('a file that cannot be written refuses the batch in a sentence', async (t) => {
  const file = newFile(t)
  mkdirSync(file)
  await assert.rejects(jsonlFileSink(file).send(first, signal), (error) => {
    assert.ok(error instanceof SinkFailure)
    assert.match(error.message, /^The file \S+clicks\.jsonl takes no clicks: EISDIR.*\.$/)
    return true
  })
})

test('text of any script is kept as it is', async (t) => {
  const file = newFile(t)
  const rows = [{ ...clickOf(1), referrer: '例え.テスト "\n\u2028' }]
  await jsonlFileSink(file).send({ id: 'third', rows }, signal)
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).referrer, rows[0]?.referrer)
})

test('each of several processes has a file of its own', () => {
  assert.equal(fileOfProcess('data/clicks.jsonl', 0), 'data/clicks.jsonl')
  assert.equal(fileOfProcess('data/clicks.jsonl', 2), 'data/clicks.2.jsonl')
  assert.equal(fileOfProcess('/clicks', 1), '/clicks.1')
})
