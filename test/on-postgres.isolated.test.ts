/**
 * Runs the tests of stores, transactions, isolation and retries on PostgreSQL. `parity.test.ts` compares the responses of
 * both engines to random requests, so the rest of the contract need not run twice. Nor need pages, which use the same
 * actions as the API.
 */
import { runOnPostgres } from './on-postgres.ts'

await runOnPostgres([
  'src/storage/{changes,transactions,version}.test.ts',
  'src/analytics/statistics/{statistics,time-zone.contract}.test.ts',
  'src/domains/{deletion,transfer}.test.ts',
  'src/{accounts,idempotency,members,qr,sessions}/store.test.ts',
  'src/sessions/isolation.test.ts',
  'src/sign-in/passkeys/store.test.ts',
  'src/events/{log,random-undo,removal,retention,store}.test.ts',
  'src/keys/{keyring,store}.test.ts',
  'src/limits/store.test.ts',
  'src/links/{address-clashes,addresses.contract,addresses-history.contract,link-list,simultaneous-stores}.test.ts',
  'src/redirect/directory.test.ts',
  'test/contract/{lists,safe-retries}.test.ts',
  'test/{export-clicks,isolation,two-accounts}.test.ts',
])
