/** Runs the tests of links, visits and statistics on PostgreSQL. `on-postgres.isolated.test.ts` runs the others. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { useEngine } from './engine.ts'
import { repository } from './scripts.ts'

useEngine('postgres')

const files = globSync(
  [
    'src/{links,stats}/*.contract.test.ts',
    'src/links/store.test.ts',
    'src/links/deleted/*.test.ts',
    'test/contract/visitors.test.ts',
    'test/removals.test.ts',
  ],
  { cwd: repository },
)

for (const file of files) {
  await test(`on PostgreSQL: ${file}`, async () => {
    await import(join(repository, file))
  })
}
