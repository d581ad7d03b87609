import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually, newFolder, startProgram } from '../../../test/processes.ts'
import { lockFile } from './connection.ts'

const module = import.meta.resolve('./connection.ts')

test('grants a lock to one holder at a time', (t) => {
  const path = join(newFolder(t), 'lock')
  const lock = lockFile(path)
  assert.equal(lockFile(path), null)
  lock?.release()
  const next = lockFile(path)
  assert.notEqual(next, null)
  next?.release()
})

test('releases the lock of a killed process', async (t) => {
  const path = join(newFolder(t), 'lock')
  const script = `import { lockFile } from ${JSON.stringify(module)}
    const lock = lockFile(${JSON.stringify(path)})
    process.stdout.write(lock === null ? 'refused' : 'held')
    setInterval(() => lock, 1_000)`
  const { child, said, ended } = startProgram(t, [process.execPath, '--input-type=module', '--eval', script], {})
  await said(/held/)
  assert.equal(lockFile(path), null)
  child.kill('SIGKILL')
  await ended
  await eventually(() => {
    const lock = lockFile(path)
    lock?.release()
    return lock !== null
  })
})

test('throws if a file cannot be locked', (t) => {
  const folder = newFolder(t)
  assert.throws(() => lockFile(join(folder, 'no', 'folder')), /unable to open database file/)
  const path = join(folder, 'text')
  writeFileSync(path, 'text of another program, '.repeat(40))
  assert.throws(() => lockFile(path), /file is not a database/)
})
