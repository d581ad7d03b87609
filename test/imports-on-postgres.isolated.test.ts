/** Runs the tests of imports and clicks on PostgreSQL. `on-postgres.isolated.test.ts` runs the others. */
import { runOnPostgres } from './on-postgres.ts'

await runOnPostgres([
  'src/imports/{interruptions,undone-totals}.test.ts',
  'src/imports/{imports,import-jobs,import-addresses,proof}.contract.test.ts',
  'src/analytics/{click-model,click-store,clicks,maintenance,salts,transfer,transfer-days}.test.ts',
])
