/** `waymark backup` and `waymark restore` when the file, the disk or the process fails. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { backedUp, namesIn, pagesOf, sentence } from './backups.ts'
import { runHere } from './command-line.ts'
import { newFolder, type Running, startProgram } from './processes.ts'
import { runs } from './runs.ts'
import { commandArguments } from './waymark.ts'

/** Enlarges a database until copies and checks take a few hundred milliseconds. */
function enlarge(path: string): void {
  const database = new DatabaseSync(path)
  database.exec(`create table padding (bytes);
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 12000)
    insert into padding select zeroblob(2000) from n`)
  database.close()
}

/** The moments when commands are killed, in milliseconds after their first write. */
const moments = [0, 100, 400, 25, 50, 200, 700, 1_200].slice(0, runs(8, 3))

/**
 * Kills commands at these moments after they begin to write to the folder. Returns how many had not finished. On a busy
 * machine, a command may end before this process knows that it has begun: then it is killed at the first moment again.
 */
async function killEach(folder: string, start: () => Running, check: () => void): Promise<number> {
  let killed = 0
  for (const afterMs of [...moments, ...Array.from({ length: 10 }, () => 0)]) {
    if (killed > 0 && afterMs === 0) break
    const { promise: isWriting, resolve } = Promise.withResolvers<void>()
    const watcher = watch(folder, (_, name) => {
      if (/partial|restoring/.test(String(name))) resolve()
    })
    const { child, ended } = start()
    await Promise.race([isWriting, ended])
    watcher.close()
    await wait(afterMs)
    child.kill('SIGKILL')
    if ((await ended).signal === 'SIGKILL') killed += 1
    check()
  }
  return killed
}

test('prints one sentence for a folder instead of a file', async (t) => {
  const { backup, say } = await backedUp(t, 'One')
  const folder = newFolder(t)
  const wayOut = `The database ${folder} is a folder. Set DATABASE_URL to a file in it.`
  for (const args of [
    ['backup', join(newFolder(t), 'other.db')],
    ['restore', backup],
  ]) {
    assert.equal(sentence(await runHere(args, { variables: { DATABASE_URL: `sqlite:${folder}` } })), wayOut)
  }
  for (const args of [
    ['backup', folder],
    ['backup', folder, '--force'],
    ['export', folder, '--force'],
  ]) {
    assert.equal(sentence(await say(...args)), `The path ${folder} is a folder. Choose a file in it.`)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('prints one sentence when the disk is full, and leaves no files', async (t) => {
  const { backup, variables, file, folder, path, done } = await backedUp(t, 'One')
  enlarge(path)
  await done('backup', backup, '--force')
  const before = readFileSync(path)
  const limited = (...args: string[]) =>
    startProgram(
      t,
      // Blocks of 512 bytes: more than Node writes itself while it measures coverage.
      ['sh', '-c', 'ulimit -f 20000 && exec "$0" "$@"', process.execPath, ...commandArguments, ...args],
      variables,
    ).ended
  assert.match(sentence(await limited('backup', file('other.db'))), /^Can't write the backup: disk I\/O error\.$/)
  assert.match(
    sentence(await limited('restore', backup)),
    /^Can't restore the backup: EFBIG: .* Nothing was replaced\.$/,
  )
  assert.deepEqual(readFileSync(path), before)
  assert.deepEqual(
    [...readdirSync(file('.')), ...readdirSync(folder)].filter((name) => /other|restoring/.test(name)),
    [],
  )
})

test('a backup ends with its SHA-256, and SQLite can open it', async (t) => {
  const { backup } = await backedUp(t, 'One')
  const [line = ''] = readFileSync(backup, 'latin1').split('\n').slice(-2)
  const [, digest] = /^Waymark backup\. SHA-256 of all bytes before this line: ([0-9a-f]{64})$/.exec(line) ?? []
  // The line break before the line belongs to it.
  assert.equal(createHash('sha256').update(pagesOf(backup)).digest('hex'), digest)
  const database = new DatabaseSync(backup, { readOnly: true })
  const [{ integrity_check: verdict } = {}] = database.prepare('pragma integrity_check').all()
  database.close()
  assert.equal(verdict, 'ok')
})

test('restores a backup of an older version, which has no checksum, with a warning', async (t) => {
  const { backup, say, file, path } = await backedUp(t, 'Old')
  writeFileSync(file('old.db'), pagesOf(backup))
  const { code, stdout, stderr } = await say('restore', file('old.db'))
  assert.equal(code, 0)
  assert.match(stdout, /^Restored the database from /)
  assert.equal(
    stderr,
    `${file('old.db')} has no checksum, because an older version wrote it. Changes to its text can't be detected.\n`,
  )
  assert.deepEqual(namesIn(path), ['Old'])
})

test('a killed backup keeps the existing file, and the next backup succeeds', async (t) => {
  const { backup, done, path, variables } = await backedUp(t, 'One')
  enlarge(path)
  const start = () => startProgram(t, [process.execPath, ...commandArguments, 'backup', backup, '--force'], variables)
  const killed = await killEach(dirname(backup), start, () => {
    assert.deepEqual(namesIn(backup), ['One'])
    assert.match(readFileSync(backup, 'latin1').slice(-130), /\nWaymark backup\. SHA-256 .*: [0-9a-f]{64}\n$/)
  })
  t.diagnostic(`${killed} of ${moments.length} were killed before they were done`)
  assert.ok(killed > 0)
  await done('backup', backup, '--force')
  await done('restore', backup)
  assert.deepEqual(namesIn(path), ['One'])
})

test('a killed restore leaves one of the two databases intact, and the next restore succeeds', async (t) => {
  const { backup, done, path, folder, variables } = await backedUp(t, 'Kept')
  enlarge(path)
  await done('backup', backup, '--force')
  const database = new DatabaseSync(path)
  database.exec(`update spaces set name = 'Later'`)
  database.close()
  const start = () => startProgram(t, [process.execPath, ...commandArguments, 'restore', backup], variables)
  const killed = await killEach(folder, start, () => {
    const [name] = namesIn(path)
    assert.ok(name === 'Later' || name === 'Kept', String(name))
  })
  t.diagnostic(`${killed} of ${moments.length} were killed before they were done`)
  assert.ok(killed > 0)
  await done('restore', backup)
  assert.deepEqual(namesIn(path), ['Kept'])
})
