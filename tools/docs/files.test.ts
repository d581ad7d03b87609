import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repository } from '../../test/scripts.ts'
import { buildFiles } from './files.ts'

const docs = join(repository, 'docs')

test('docs/ has the built files, and no other in docs/html', () => {
  const built = buildFiles()
  const stored = globSync(['openapi.json', 'html/**/*.*'], { cwd: docs }).map((path) => path.replaceAll('\\', '/'))
  const differing = new Set(built.keys()).symmetricDifference(new Set(stored))
  for (const path of stored) if (readFileSync(join(docs, path), 'utf8') !== built.get(path)) differing.add(path)
  assert.deepEqual([...differing], [], 'Run: npm run docs')
})
