/** Runs the tests of links and statistics on PostgreSQL. `on-postgres.isolated.test.ts` runs the others. */
import { runOnPostgres } from './on-postgres.ts'

await runOnPostgres([
  'src/links/{links,links-list,links-safety}.contract.test.ts',
  'src/links/{bulk,export}.contract.test.ts',
  'src/links/batch-changes.test.ts',
  'src/redirect/explain.contract.test.ts',
  'src/analytics/statistics/{addresses,forgetting,stats}.contract.test.ts',
  'src/tags/tags.contract.test.ts',
  'src/links/store.test.ts',
  'src/links/{deletion,nearest-alias}.test.ts',
  'test/removals.test.ts',
])
