import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey } from '../keys/store.ts'
import { openStorage } from '../storage/open.ts'
import type { Db, Storage } from '../storage/port.ts'
import { KeptAnswers } from './kept-answers.ts'
import { type Answer, type Claim, fingerprintOf, purgedAtOnce, purgeExpired } from './store.ts'

const answer: Answer = { status: 201, location: 'http://a/1', etag: '"1-a"', body: '{"data":{}}' }
const day = 24 * 60 * 60 * 1_000

interface Fixture {
  readonly storage: Storage
  /** The same file, seen from outside. */
  readonly file: DatabaseSync
  readonly claim: (idempotency_key: string) => Claim
}

async function opened(t: TestContext): Promise<Fixture> {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  const path = join(folder, 'test.db')
  const storage = await openStorage({ engine: 'sqlite', path })
  const file = new DatabaseSync(path, { timeout: 5_000 })
  t.after(async () => {
    file.close()
    await storage.close()
    rmSync(folder, { recursive: true })
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

function keeper(t: TestContext, storage: Storage, everyMs?: number): KeptAnswers {
  const kept = new KeptAnswers(storage, everyMs)
  t.after(() => kept.close())
  return kept
}

const never = async (): Promise<Answer> => assert.fail('carried out again')
const expired = new Date(Date.now() - 1).toISOString()
const countIn = (file: DatabaseSync) => Number(file.prepare('select count(*) as n from kept_answers').get()?.n)

test('an answer is kept for 24 hours', async (t) => {
  const { storage, file, claim } = await opened(t)
  const before = Date.now()
  await keeper(t, storage).once(claim('a'), async () => answer)
  const { expires_at } = file.prepare('select expires_at from kept_answers').get() as { expires_at: string }
  const kept = Date.parse(expires_at) - day
  assert.ok(kept >= before && kept <= Date.now(), expires_at)
})

test('a key whose answer has expired is free for any request, before it is purged as well', async (t) => {
  const { storage, file, claim } = await opened(t)
  const kept = keeper(t, storage)
  await kept.once(claim('a'), async () => answer)
  file.prepare('update kept_answers set expires_at = ?').run(expired)
  const other = { ...answer, body: '{}' }
  const claimedAnew = { ...claim('a'), fingerprint: fingerprintOf(['g'], 'secret') }
  assert.deepEqual(await kept.once(claimedAnew, async () => other), { ...other, isReplayed: false })
  assert.deepEqual({ ...(await kept.once(claimedAnew, never)) }, { ...other, isReplayed: true })
  await assert.rejects(kept.once(claim('a'), never), { code: 'idempotency_key_reused' })
  assert.equal(await purgeExpired(storage), 0)
})

test('what fails is forgotten with all that it wrote', async (t) => {
  const { storage, file, claim } = await opened(t)
  const kept = keeper(t, storage)
  const failing = kept.once(claim('a'), async (tx) => {
    await createAccount(tx, 'Never')
    throw new Error('no')
  })
  await assert.rejects(failing, /^Error: no$/)
  assert.equal(countIn(file), 0)
  assert.equal(file.prepare(`select count(*) as n from accounts where name = 'Never'`).get()?.n, 0)
  assert.equal((await kept.once(claim('a'), async () => answer)).isReplayed, false)
})

test('another account never gets an answer, even under the same API key', async (t) => {
  const { storage, claim } = await opened(t)
  const kept = keeper(t, storage)
  await kept.once(claim('a'), async () => answer)
  const stranger = (await createAccount(storage, 'Other')).id
  await assert.rejects(kept.once({ ...claim('a'), account_id: stranger }, never), {
    code: 'idempotency_in_progress',
  })
})

test('expired answers are purged beside the requests, some at a time; all others stay', async (t) => {
  const { storage, file, claim } = await opened(t)
  const first = keeper(t, storage)
  const keys = Array.from({ length: 2 * purgedAtOnce + 10 }, (_, n) => `k${n}`)
  await Promise.all(keys.map((key) => first.once(claim(key), async () => answer)))
  file.prepare(`update kept_answers set expires_at = ? where idempotency_key <> 'k7'`).run(expired)
  assert.equal(await purgeExpired(storage), purgedAtOnce)
  keeper(t, storage, 5)
  await eventually(() => countIn(file) === 1)
  assert.deepEqual({ ...(await first.once(claim('k7'), never)) }, { ...answer, isReplayed: true })
})

test('a purge that fails is made up for by the next one', async (t) => {
  const { storage, file, claim } = await opened(t)
  await keeper(t, storage).once(claim('a'), async () => answer)
  file.prepare('update kept_answers set expires_at = ?').run(expired)
  file.exec(`create trigger broken before delete on kept_answers begin select raise(abort, 'broken'); end`)
  await assert.rejects(purgeExpired(storage), /broken/)
  let failures = 0
  const noted: Db = {
    execute: (query) =>
      storage.execute(query).catch((error) => {
        failures += 1
        throw error
      }),
    all: storage.all.bind(storage),
    writeOne: storage.writeOne.bind(storage),
    write: storage.write.bind(storage),
  }
  const kept = new KeptAnswers(noted, 1)
  t.after(() => kept.close())
  await eventually(() => failures > 1)
  assert.equal(countIn(file), 1)
  file.exec('drop trigger broken')
  await eventually(() => countIn(file) === 0)
})

test('a fingerprint tells nothing to those who do not know the secret', () => {
  const parts = ['POST', '/api/v1/links', [['redirect_password', 'swordfish']]]
  assert.equal(fingerprintOf(parts, 'Bearer a'), fingerprintOf(parts, 'Bearer a'))
  assert.notEqual(fingerprintOf(parts, 'Bearer a'), fingerprintOf(parts, 'Bearer b'))
  assert.notEqual(fingerprintOf(parts, 'Bearer a'), fingerprintOf([...parts, 1], 'Bearer a'))
})
