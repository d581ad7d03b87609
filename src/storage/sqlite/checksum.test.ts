import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { newFolder } from '../../../test/processes.ts'
import { appendChecksum, takeChecksum } from './backup.ts'

/** Creates a database of several megabytes. `verdictOf` checks other bytes in its place. */
function make(t: TestContext, pageSize: number) {
  const path = join(newFolder(t), 'test.db')
  const database = new DatabaseSync(path)
  database.exec(
    `pragma page_size = ${pageSize}; create table notes (text); insert into notes values (randomblob(3000000))`,
  )
  database.close()
  const verdictOf = (bytes: Buffer) => {
    writeFileSync(path, bytes)
    return takeChecksum(path, () => undefined)
  }
  return { path, pages: readFileSync(path), verdictOf }
}

test('removes a checksum that is right, and reports progress', async (t) => {
  for (const pageSize of [512, 65_536]) {
    const { path, pages } = make(t, pageSize)
    const shares: number[] = []
    await appendChecksum(path, (step, share) => {
      assert.equal(step, 'checked')
      shares.push(share)
    })
    assert.deepEqual(readFileSync(path).subarray(0, pages.length), pages)
    assert.ok(shares.length > 2 && shares.every((share, index) => share > (shares[index - 1] ?? 0)))
    assert.equal(shares.at(-1), 1)
    assert.equal(await takeChecksum(path, () => undefined), 'right')
    assert.deepEqual(readFileSync(path), pages)
  }
})

test('returns wrong for a changed bit, missing bytes and extra bytes', async (t) => {
  const { path, pages, verdictOf } = make(t, 4096)
  await appendChecksum(path, () => undefined)
  const whole = readFileSync(path)
  const places = [0, 17, 28, 1_000_000, pages.length - 1, pages.length, pages.length + 20, whole.length - 9]
  for (const at of [...places, whole.length - 1]) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] as number) ^ 1
    assert.equal(await verdictOf(bytes), 'wrong', `bit of byte ${at}`)
  }
  for (const bytes of [
    whole.subarray(0, -1),
    whole.subarray(0, pages.length + 1),
    whole.subarray(0, 5_000),
    whole.subarray(pages.length),
    Buffer.concat([whole, Buffer.from('\n')]),
    Buffer.concat([whole, whole.subarray(pages.length)]),
  ]) {
    assert.equal(await verdictOf(bytes), 'wrong', `${bytes.length} bytes`)
  }
})

test('returns missing for a database without a checksum and for other files', async (t) => {
  const { pages, verdictOf } = make(t, 4096)
  for (const bytes of [pages, Buffer.alloc(0), Buffer.from('Not a database.\n'), Buffer.from('SQLite format 4')]) {
    assert.equal(await verdictOf(bytes), 'missing')
  }
  assert.equal(await verdictOf(Buffer.from('SQLite format 3\0')), 'wrong')
})
