/** Everything that is tested through `test/engine.ts`, once more: on PostgreSQL. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { useEngine } from './engine.ts'
import { repository } from './scripts.ts'

useEngine('postgres')

/** A browser sees nothing of the engine; what compares engines has both. */
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: repository }).filter(
  (file) =>
    !/browser|parity/.test(file) &&
    /\bfrom '[./]*test\/(app|engine)\.ts'|from '\.\.?\/(app|engine)\.ts'/.test(contentOf(file)),
)

for (const file of files) {
  await test(`on PostgreSQL: ${file}`, async () => {
    await import(join(repository, file))
  })
}

function contentOf(file: string): string {
  return readFileSync(join(repository, file), 'utf8')
}
