/**
 * Runs the tests of stores, transactions, isolation and retries on PostgreSQL. `parity.test.ts` compares the responses of
 * both engines to random requests, so the rest of the contract need not run twice.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { useEngine } from './engine.ts'
import { repository } from './scripts.ts'

useEngine('postgres')

const files = globSync(
  [
    'src/storage/{changes,foreign-keys,removal,transactions,version}.test.ts',
    'src/storage/clicks/{book,upkeep}.test.ts',
    'src/{clicks,idempotency,instance,keys,limits,sessions}/*.test.ts',
    'src/links/counts.test.ts',
    'src/redirect/directory.test.ts',
    'src/analytics/statistics/daily-clicks.test.ts',
    'test/contract/{after,safe-retries}.test.ts',
    'test/{export-clicks,isolation,lost-updates}.test.ts',
    'test/dashboard/isolation.test.ts',
    'test/dashboard/link-actions.test.ts',
  ],
  { cwd: repository },
)

for (const file of files) {
  await test(`on PostgreSQL: ${file}`, async () => {
    await import(join(repository, file))
  })
}
