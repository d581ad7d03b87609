import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newFolder, startProgram } from './processes.ts'

test('npm test fails when a test does', async (t) => {
  const file = join(newFolder(t), 'failing.test.mjs')
  writeFileSync(file, "import { test } from 'node:test'\ntest('fails', () => { throw new Error('no') })\n")
  const args = ['--test', '--test-global-setup=test/global-setup.ts', file]
  // It starts its own PostgreSQL, because that could change the exit code. Copying the data folder of the run saves a second.
  const { TEST_POSTGRES_FOLDER } = process.env
  const variables = TEST_POSTGRES_FOLDER === undefined ? {} : { TEST_POSTGRES_FOLDER }
  const { code, stdout } = await startProgram(t, [process.execPath, ...args], variables).ended
  assert.match(stdout, /fail 1/)
  assert.equal(code, 1)
})
