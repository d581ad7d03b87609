import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { newPlace, typed } from '../../test/command-line.ts'
import { damage } from '../../test/lists-model.ts'
import { newFolder } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
import { insertSpace } from '../spaces/store.ts'
import { withProgress } from './output.ts'

/** Creates a database that takes several steps to copy and has more records than a page of an export. */
async function onBigDatabase(t: TestContext) {
  const { storage, run } = await newPlace(t)
  await storage.write(async (tx) => {
    for (let n = 0; n < 600; n++) await insertSpace(tx, systemActor(1), { name: `Space ${n}`, color: 1 })
  })
  await storage.close()
  assert.ok(storage.location.engine === 'sqlite')
  const { path } = storage.location
  const database = new DatabaseSync(path)
  database.exec('create table filler as select randomblob(8000000)')
  database.close()
  const say = async (line: string) => {
    const said = await run(line, { isTerminal: true })
    return { ...said, stderr: said.stderr.replaceAll('\r\u001b[K', '\r') }
  }
  return { path, say }
}

test('backup, restore, export and import show their progress in one line and remove it', async (t) => {
  const { say } = await onBigDatabase(t)
  const folder = newFolder(t)
  const backup = await say(`backup ${folder}/backup.db`)
  assert.match(backup.stderr, /^(\r\d+% copied)+(\r\d+% checked)*\r$/)
  const exported = await say(`export ${folder}/export.jsonl`)
  assert.match(
    exported.stderr,
    /^(\r\d\.\d MB exported)+\rExported to \S+\. domains: 0, spaces: 600, tags: 0, links: 0, click_days: 0\.\n$/,
  )
  const imported = await say(`import ${folder}/export.jsonl`)
  assert.match(imported.stderr, /^(\rRecords stored: \d+, already present: \d+, rejected: 0\.)+\r$/)
  assert.deepEqual([backup.code, exported.code, imported.code], [0, 0, 0])
  const restored = await say(`restore ${folder}/backup.db`)
  assert.match(restored.stderr, /^(\r\d+% \w+)+\r/)
  assert.match(restored.stdout, /^Restored the database from \S+\. The previous database is in \S+\.\n$/)
})

test('a failed export leaves no line and no file', async (t) => {
  const { path, say } = await onBigDatabase(t)
  damage(path, 'Space 599')
  const folder = newFolder(t)
  for (const file of ['-', `${folder}/export.jsonl`]) {
    const { code, stderr } = await say(`export ${file}`)
    assert.equal(code, 1)
    assert.match(stderr, /^(\r\d\.\d MB exported)+\rThe database is not available right now\. .*\n$/)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('an import from a terminal prints a hint', async (t) => {
  const { run } = await newPlace(t)
  const hint = 'Reading an export from the terminal. End it with Ctrl-D, or pass a file: npx waymark import FILE\n'
  const message = 'The file is not a Waymark export: its first line is not a header.\n'
  assert.deepEqual(await run('import', typed([])), { code: 1, stdout: '', stderr: hint + message })
  assert.equal((await run('import')).stderr, message)
})

/** Returns the output to a file for work of this duration with a step every 50 ms. */
async function outputOf(t: TestContext, forMs: number): Promise<string> {
  const texts: string[] = []
  const write = (chunk: Buffer, _: string, done: () => void) => {
    texts.push(String(chunk))
    done()
  }
  let now = 0
  const clock = t.mock.method(performance, 'now', () => now)
  await withProgress(new Writable({ write }), async ({ show }) => {
    for (; now < forMs; now += 50) show(() => `${now} ms`)
  })
  clock.mock.restore()
  return texts.join('')
}

test('writes a line every five seconds to other streams than terminals, and nothing about short work', async (t) => {
  assert.equal(await outputOf(t, 11_000), '5000 ms\n10000 ms\n')
  assert.equal(await outputOf(t, 5_000), '')
})
