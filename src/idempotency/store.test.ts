import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { eventually } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey } from '../keys/store.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import {
  type Claim,
  fingerprintOfRequest,
  IdempotentRequests,
  purgeBatchSize,
  purgeExpired,
  type StoredResponse,
} from './store.ts'

const response: StoredResponse = { status: 201, location: 'http://a/1', etag: '"1-a"', body: '{"data":{}}' }
const day = 24 * 60 * 60 * 1_000

async function opened(t: TestContext) {
  const storage = await newStorage((work) => t.after(work))
  const { id: account_id } = await createAccount(storage, 'Acme')
  const { key } = await createKey(storage, systemActor(account_id), { name: 'test', scopes: ['*'], lifetimeMs: null })
  const fingerprint = fingerprintOfRequest(['f'], 'secret')
  const claim = (idempotency_key: string): Claim => ({ account_id, key_id: key.id, idempotency_key, fingerprint })
  return { storage, claim }
}

function start(t: TestContext, storage: Storage, everyMs?: number): IdempotentRequests {
  const requests = new IdempotentRequests(storage, everyMs)
  t.after(() => requests.close())
  return requests
}

const never = async (): Promise<StoredResponse> => assert.fail('run again')
const stored = query.selectFrom('stored_responses').select('expires_at')
/** Lets all responses expire except one. */
const expire = (kept = '') =>
  query
    .updateTable('stored_responses')
    .set({ expires_at: new Date(Date.now() - 1).toISOString() })
    .where('idempotency_key', '<>', kept)

test('stores a response for 24 hours', async (t) => {
  const { storage, claim } = await opened(t)
  const before = Date.now()
  await start(t, storage).run(claim('a'), async () => response)
  const [row] = await storage.execute(stored)
  const kept = Date.parse(String(row?.expires_at)) - day
  assert.ok(kept >= before && kept <= Date.now(), String(kept))
})

test('frees the key of an expired response, even before it is purged', async (t) => {
  const { storage, claim } = await opened(t)
  const requests = start(t, storage)
  await requests.run(claim('a'), async () => response)
  await storage.execute(expire())
  const other = { ...response, body: '{}' }
  const claimAgain = { ...claim('a'), fingerprint: fingerprintOfRequest(['g'], 'secret') }
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
  const { storage, claim } = await opened(t)
  const first = start(t, storage)
  for (let n = 0; n < 2 * purgeBatchSize + 10; n++) await first.run(claim(`k${n}`), async () => response)
  await storage.execute(expire('k7'))
  assert.equal(await purgeExpired(storage), purgeBatchSize)
  start(t, storage, 5)
  await eventually(async () => (await storage.execute(stored)).length === 1)
  assert.deepEqual({ ...(await first.run(claim('k7'), never)) }, { ...response, isReplayed: true })
})

test('computes fingerprints that depend on the secret', () => {
  const parts = ['POST', '/api/v1/links', [['redirect_password', 'swordfish']]]
  assert.equal(fingerprintOfRequest(parts, 'Bearer a'), fingerprintOfRequest(parts, 'Bearer a'))
  assert.notEqual(fingerprintOfRequest(parts, 'Bearer a'), fingerprintOfRequest(parts, 'Bearer b'))
  assert.notEqual(fingerprintOfRequest(parts, 'Bearer a'), fingerprintOfRequest([...parts, 1], 'Bearer a'))
})
