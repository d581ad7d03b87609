/** Runs the tests of links, visits and statistics on PostgreSQL. `on-postgres.isolated.test.ts` runs the others. */
import { runOnPostgres } from './on-postgres.ts'

await runOnPostgres([
  'src/links/*.contract.test.ts',
  'src/analytics/statistics/*.contract.test.ts',
  'src/links/store.test.ts',
  'src/links/deleted-links.test.ts',
  'test/contract/visitors.test.ts',
  'test/removals.test.ts',
])
