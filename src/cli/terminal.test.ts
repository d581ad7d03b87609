/** Progress at a terminal. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { runHere, type Said } from '../../test/command-line.ts'
import { damage } from '../../test/lists-model.ts'
import { newDatabase, newFolder, type Variables } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import { insertSpace } from '../spaces/store.ts'
import { openStorage } from '../storage/open.ts'

type AtTerminal = (args: readonly string[], input?: Readable) => Promise<Said>

/** Creates a database that takes several steps to copy and has more records than a page of an export. */
async function onBigDatabase(t: TestContext): Promise<{ path: string; variables: Variables; say: AtTerminal }> {
  const { path, variables } = newDatabase(t)
  const storage = await openStorage({ engine: 'sqlite', path })
  await createAccount(storage, 'Acme')
  await storage.write(async (tx) => {
    for (let n = 0; n < 600; n++) await insertSpace(tx, 1, { name: `Space ${n}`, color: 1 })
  })
  await storage.close()
  const database = new DatabaseSync(path)
  database.exec('create table filler as select randomblob(8000000)')
  database.close()
  const say: AtTerminal = async (args, input = Readable.from([])) => {
    const said = await runHere(args, { input, isTerminal: true, variables })
    return { ...said, stderr: said.stderr.replaceAll('\r\u001b[K', '\r') }
  }
  return { path, variables, say }
}

test('backup, restore, export and import show their progress in one line and remove it', async (t) => {
  const { say } = await onBigDatabase(t)
  const folder = newFolder(t)
  const backup = await say(['backup', join(folder, 'backup.db')])
  assert.match(backup.stderr, /^(\r\d+ % is copied)+(\r\d+ % is checked)*\r$/)
  const exported = await say(['export', join(folder, 'export.jsonl')])
  assert.match(
    exported.stderr,
    /^(\r\d\.\d MB exported)+\rExported to \S+\. domains: 0, spaces: 600, links: 0, click_days: 0\.\n$/,
  )
  const imported = await say(['import', join(folder, 'export.jsonl')])
  assert.match(imported.stderr, /^(\rRecords stored: \d+, there already: \d+, refused: 0\.)+\r$/)
  assert.deepEqual([backup.code, exported.code, imported.code], [0, 0, 0])
  const restored = await say(['restore', join(folder, 'backup.db')])
  assert.match(restored.stderr, /^(\r\d+ % is \w+)+\r/)
  assert.match(restored.stdout, /^The database is restored from \S+\. The previous database is in \S+\.\n$/)
})

test('a failed export leaves no line and no file', async (t) => {
  const { path, say } = await onBigDatabase(t)
  damage(path, 'Space 599')
  const folder = newFolder(t)
  for (const file of ['-', join(folder, 'export.jsonl')]) {
    const { code, stderr } = await say(['export', file])
    assert.equal(code, 1)
    assert.match(stderr, /^(\r\d\.\d MB exported)+\rThe database is not available right now\. .*\n$/)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('an import from a terminal prints a hint', async (t) => {
  const { variables, say } = await onBigDatabase(t)
  const waits = 'Waiting for the lines of an export. End with Ctrl-D, or name a file: npx waymark import FILE\n'
  const typed = await say(['import'], Object.assign(Readable.from([]), { isTTY: true }))
  assert.deepEqual(
    [typed.code, typed.stderr],
    [1, `${waits}The file is not an export of Waymark: its first line is not a header.\n`],
  )
  assert.ok(!(await runHere(['import'], { variables })).stderr.includes('Waiting'))
})
