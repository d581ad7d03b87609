import assert from 'node:assert/strict'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { newFolder } from '../test/processes.ts'
import { repository } from '../test/scripts.ts'

/** Returns the version of a copy with these files. */
async function readVersion(t: TestContext, version: string, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = newFolder(t)
  for (const [name, text] of Object.entries({ 'package.json': JSON.stringify({ version }), ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  cpSync(join(repository, 'src/version.ts'), join(folder, 'src/version.ts'))
  return (await import(pathToFileURL(join(folder, 'src/version.ts')).href)).version
}

const commit = '1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d'
const branch = { '.git/HEAD': 'ref: refs/heads/main\n' }

test('has the commit between releases', async (t) => {
  for (const [what, files] of Object.entries({
    branch: { ...branch, '.git/refs/heads/main': `${commit}\n` },
    'packed branch': {
      ...branch,
      '.git/packed-refs': `# pack-refs\n${'0'.repeat(40)} refs/heads/a\n${commit} refs/heads/main\n`,
    },
    'detached HEAD': { '.git/HEAD': `${commit}\n` },
    'package or image': { 'src/commit': `${commit}\n`, '.git/HEAD': `${'0'.repeat(40)}\n` },
  })) {
    assert.equal(await readVersion(t, '0.3.0-dev', files), '0.3.0-dev+1a2b3c4d5e', what)
    assert.equal(await readVersion(t, '0.3.0', files), '0.3.0', what)
  }
})

test('has no commit if it is unknown', async (t) => {
  for (const files of [{}, { 'src/commit': '\n' }, branch, { '.git': 'gitdir: ../elsewhere\n' }]) {
    assert.equal(await readVersion(t, '0.3.0-dev', files), '0.3.0-dev')
  }
})
