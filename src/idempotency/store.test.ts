import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { eventually, newFolder } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey } from '../keys/store.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/port.ts'
import {
  type Claim,
  fingerprintOf,
  IdempotentRequests,
  purgeBatchSize,
  purgeExpired,
  type StoredResponse,
} from './store.ts'

const response: StoredResponse = { status: 201, location: 'http://a/1', etag: '"1-a"', body: '{"data":{}}' }
const day = 24 * 60 * 60 * 1_000

interface Fixture {
  readonly storage: Storage
  /** The same file, seen from outside. */
  readonly file: DatabaseSync
  readonly claim: (idempotency_key: string) => Claim
}

async function opened(t: TestContext): Promise<Fixture> {
  const path = join(newFolder(t), 'test.db')
  const storage = await openStorage({ engine: 'sqlite', path })
  const file = new DatabaseSync(path, { timeout: 5_000 })
  t.after(async () => {
    file.close()
    await storage.close()
  })
  const account = await createAccount(storage, 'Acme')
  const { key } = await createKey(storage, { account: account.id, name: 'test', scopes: ['*'], lifetimeMs: null })
  const claim = (idempotency_key: string) => ({
    account_id: account.id,
    key_id: key.id,
    idempotency_key,
    fingerprint: fingerprintOf(['f'], 'secret'),
  })
  return { storage, file, claim }
}

function start(t: TestContext, storage: Storage, everyMs?: number): IdempotentRequests {
  const requests = new IdempotentRequests(storage, everyMs)
  t.after(() => requests.close())
  return requests
}

const never = async (): Promise<StoredResponse> => assert.fail('run again')
const expired = new Date(Date.now() - 1).toISOString()
const countIn = (file: DatabaseSync) => Number(file.prepare('select count(*) as n from stored_responses').get()?.n)

test('stores a response for 24 hours', async (t) => {
  const { storage, file, claim } = await opened(t)
  const before = Date.now()
  await start(t, storage).run(claim('a'), async () => response)
  const { expires_at } = file.prepare('select expires_at from stored_responses').get() as { expires_at: string }
  const kept = Date.parse(expires_at) - day
  assert.ok(kept >= before && kept <= Date.now(), expires_at)
})

test('frees the key of an expired response, even before it is purged', async (t) => {
  const { storage, file, claim } = await opened(t)
  const requests = start(t, storage)
  await requests.run(claim('a'), async () => response)
  file.prepare('update stored_responses set expires_at = ?').run(expired)
  const other = { ...response, body: '{}' }
  const claimAgain = { ...claim('a'), fingerprint: fingerprintOf(['g'], 'secret') }
  assert.deepEqual(await requests.run(claimAgain, async () => other), { ...other, isReplayed: false })
  assert.deepEqual({ ...(await requests.run(claimAgain, never)) }, { ...other, isReplayed: true })
  await assert.rejects(requests.run(claim('a'), never), { code: 'idempotency_key_reused' })
  assert.equal(await purgeExpired(storage), 0)
})

test('never returns the response of another account, even for the same API key', async (t) => {
  const { storage, claim } = await opened(t)
  const requests = start(t, storage)
  await requests.run(claim('a'), async () => response)
  const other = (await createAccount(storage, 'Other')).id
  await assert.rejects(requests.run({ ...claim('a'), account_id: other }, never), {
    code: 'idempotency_in_progress',
  })
})

test('purges expired responses in batches, and no others', async (t) => {
  const { storage, file, claim } = await opened(t)
  const first = start(t, storage)
  const keys = Array.from({ length: 2 * purgeBatchSize + 10 }, (_, n) => `k${n}`)
  await Promise.all(keys.map((key) => first.run(claim(key), async () => response)))
  file.prepare(`update stored_responses set expires_at = ? where idempotency_key <> 'k7'`).run(expired)
  assert.equal(await purgeExpired(storage), purgeBatchSize)
  start(t, storage, 5)
  await eventually(() => countIn(file) === 1)
  assert.deepEqual({ ...(await first.run(claim('k7'), never)) }, { ...response, isReplayed: true })
})

test('computes fingerprints that depend on the secret', () => {
  const parts = ['POST', '/api/v1/links', [['redirect_password', 'swordfish']]]
  assert.equal(fingerprintOf(parts, 'Bearer a'), fingerprintOf(parts, 'Bearer a'))
  assert.notEqual(fingerprintOf(parts, 'Bearer a'), fingerprintOf(parts, 'Bearer b'))
  assert.notEqual(fingerprintOf(parts, 'Bearer a'), fingerprintOf([...parts, 1], 'Bearer a'))
})
