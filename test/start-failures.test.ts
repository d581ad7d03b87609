import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { StartupFailure } from '../src/errors.ts'
import { openStorage } from '../src/storage/open.ts'
import { runHere } from './command-line.ts'
import { newDatabase, newFolder, type Running } from './processes.ts'
import { listenOn } from './servers.ts'
import { run } from './waymark.ts'

test('reports a port in use in one sentence, without using up the first key', async (t) => {
  const { variables } = newDatabase(t)
  const port = await listenOn(t, createServer())
  for (const name of ['PORT', 'OPS_PORT']) {
    assert.equal(
      await refusal(run(t, { PORT: '0', ...variables, [name]: String(port) })),
      `Port ${port} on 127.0.0.1 is already in use. Stop the other process, or set ${name} to another port.`,
    )
  }
  const { stdout } = await runHere(['accounts', 'list', '--json'], { variables })
  assert.deepEqual(JSON.parse(stdout), [])
})

test('reports an unusable database in one sentence, and leaves it unchanged', async (t) => {
  const folder = newFolder(t)
  const cases: [file: string, make: (path: string) => void, sentence: RegExp][] = [
    ['text.db', (path) => writeFileSync(path, 'Not a database.\n'.repeat(100)), /^The file \S+ is not a database\. /],
    [
      'other.db',
      (path) => execute(path, 'create table songs (id)'),
      /^The file \S+ is the database of another program\. /,
    ],
    ['newer.db', (path) => execute(path, newer), /^The database was created by a newer version of Waymark\. /],
    ['damaged.db', damage, /^The database \S+ is damaged: /],
    ['folder.db', (path) => mkdirSync(path), /^The database \S+ is a folder\. /],
    ['file/way.db', (path) => writeFileSync(dirname(path), ''), /^Can't create the database folder \S+: /],
    ['/proc/none/way.db', () => undefined, /^Can't create the database folder \S+: /],
  ]
  for (const [file, make, sentence] of cases) {
    const path = resolve(folder, file)
    make(path)
    const before = file === 'other.db' ? readFileSync(path) : null
    const isReported = (error: unknown) => error instanceof StartupFailure && sentence.test(error.message)
    await assert.rejects(openStorage({ engine: 'sqlite', path }), isReported, file)
    if (before !== null) assert.deepEqual(readFileSync(path), before)
  }
})

test('reports a read-only folder or file in one sentence', async (t) => {
  const { path, variables } = newDatabase(t)
  await (await openStorage({ engine: 'sqlite', path })).close()
  chmodSync(dirname(path), 0o555)
  assert.equal(await refusal(run(t, { ...variables, PORT: '0' }, nobody)), readOnly(dirname(path)))
  chmodSync(dirname(path), 0o777)
  chmodSync(path, 0o444)
  assert.equal(await refusal(run(t, { ...variables, PORT: '0' }, nobody)), readOnly(path))
})

/** Returns the error message of a failed start. */
async function refusal(running: Running): Promise<string> {
  const { code, stdout, stderr } = await running.ended
  assert.equal(code, 1, stderr)
  assert.equal(stdout, '')
  assert.doesNotMatch(stderr, /^\s+at |node:internal/m)
  assert.match(stderr, /[.]\n$/)
  return stderr.trimEnd()
}

/** Starts a process as another user than root, who may write anywhere. */
const isRoot = process.getuid?.() === 0
const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {}
const coverage = process.env.NODE_V8_COVERAGE
if (isRoot && coverage !== undefined) chmodSync(coverage, 0o777)

const readOnly = (place: string) =>
  `Can't write to the database: ${place} is read-only for this user. Allow this user to write there, or set DATABASE_URL to another file.`

const newer = `
  create table instance (database_id text);
  create table kysely_migration (name text, timestamp text);
  insert into kysely_migration values
    ('0001-foundation', '2026-01-01T00:00:00.000Z'), ('9999-later', '2027-01-01T00:00:00.000Z')`

/** Destroys the schema, but not the file's header. */
function damage(path: string): void {
  execute(path, newer)
  writeFileSync(path, readFileSync(path).fill(0xff, 100, 4096))
}

function execute(path: string, text: string): void {
  const database = new DatabaseSync(path)
  database.exec(text)
  database.close()
}
