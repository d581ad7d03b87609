/** Links and their visitors, as `on-postgres.test.ts` runs the rest: a file of its own, so that both run at the same time. */
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
