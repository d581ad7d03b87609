/**
 * What is tested through the storage port, once more on PostgreSQL: stores, migrations and the contract of lists, searches and
 * safe retries. `parity.test.ts` compares whole answers of both engines over thousands of random requests, so that the rest
 * of the contract need not run twice.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { useEngine } from './engine.ts'
import { repository } from './scripts.ts'

useEngine('postgres')

const files = globSync(
  [
    'src/storage/*.test.ts',
    'src/{accounts,idempotency,keys,limits,transfer}/*.test.ts',
    'test/contract/{after,conditions,lists,safe-retries,search}.test.ts',
    'test/{isolation,lost-updates}.test.ts',
  ],
  { cwd: repository },
)

for (const file of files) {
  await test(`on PostgreSQL: ${file}`, async () => {
    await import(join(repository, file))
  })
}
