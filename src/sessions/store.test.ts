/** Sign-in links and sessions on both engines. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { Failure } from '../errors.ts'
import { createKey, revokeKey } from '../keys/store.ts'
import type { Storage } from '../storage/port.ts'
import { isRead, query } from '../storage/schema.ts'
import {
  findSession,
  insertLoginToken,
  listSessions,
  maxSessions,
  maxTokens,
  removeSession,
  signInByKey,
  signInByToken,
} from './store.ts'
import { sessionLifetimeMs } from './token.ts'

const minute = 60_000
const start = Date.parse('2026-11-22T12:00:00.000Z')
const firefox = 'Firefox on Linux'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A database with the accounts Acme and Other, 1 and 2. */
async function opened(t: TestContext): Promise<Storage> {
  const storage = await newStorage((work) => t.after(work))
  for (const name of ['Acme', 'Other']) await createAccount(storage, name)
  return storage
}

/** The secret of a new session of account 1. */
async function signedIn(storage: Storage, now = start): Promise<string> {
  const token = await insertLoginToken(storage, 1, { lifetimeMs: minute, now })
  return (await signInByToken(storage, token, firefox, now)) ?? assert.fail('The token was refused.')
}

async function newKey(storage: Storage, account: number, lifetimeMs: number | null = null): Promise<number> {
  return (await createKey(storage, systemActor(account), { name: 'mine', scopes: ['*'], lifetimeMs })).key.id
}

async function stored(storage: Storage, table: 'login_tokens' | 'sessions'): Promise<string[]> {
  const rows = await storage.execute(query.selectFrom(table).select('hash'))
  return rows.map(({ hash }) => Buffer.from(hash).toString('hex'))
}

test('a sign-in link starts a session for 30 days', async (t) => {
  const storage = await opened(t)
  const token = await insertLoginToken(storage, 2)
  const now = Date.now()
  const secret = await signInByToken(storage, token, firefox, now)
  const session = await findSession(storage, String(secret), now)
  const { created_at } =
    (await storage.execute(query.selectFrom('accounts').select('created_at').where('id', '=', 2)))[0] ?? {}
  const times = [now, now, now + 30 * 24 * 60 * minute].map((time) => new Date(time).toISOString())
  assert.deepEqual(session, {
    ...{
      id: 1,
      account: { id: 2, name: 'Other', time_zones: '[["UTC",0]]', created_at },
      name: null,
      key_id: null,
      key_name: null,
      browser: firefox,
    },
    ...{ created_at: times[0], last_used_at: times[1], expires_at: times[2] },
  })
})

test('concurrent requests with one sign-in link start one session', async (t) => {
  const storage = await opened(t)
  for (let round = 0; round < 5; round++) {
    const token = await insertLoginToken(storage, 1)
    const begun = await Promise.all(Array.from({ length: 8 }, () => signInByToken(storage, token, firefox)))
    assert.equal(begun.filter((session) => session !== undefined).length, 1)
  }
  assert.equal((await listSessions(storage, 1)).length, 5)
})

test('a sign-in link works for 30 minutes or its own lifetime', async (t) => {
  const storage = await opened(t)
  for (const [lifetime, made] of [
    [30 * minute, await insertLoginToken(storage, 1, { now: start })],
    [minute, await insertLoginToken(storage, 1, { lifetimeMs: minute, now: start })],
  ] as const) {
    assert.equal(await signInByToken(storage, made, firefox, start + lifetime), undefined)
    assert.notEqual(await signInByToken(storage, made, firefox, start + lifetime - 1), undefined)
  }
})

test('stores only the SHA-256 of secrets', async (t) => {
  const storage = await opened(t)
  const token = await insertLoginToken(storage, 1, { lifetimeMs: minute, now: start })
  assert.deepEqual(await stored(storage, 'login_tokens'), [sha256(token)])
  const secret = await signedIn(storage)
  assert.deepEqual(await stored(storage, 'sessions'), [sha256(secret)])
})

test('deletes expired sessions at the next sign-in, and hides them before', async (t) => {
  const storage = await opened(t)
  const secret = await signedIn(storage)
  const end = start + sessionLifetimeMs
  assert.notEqual(await findSession(storage, secret, end - 1), undefined)
  assert.equal(await findSession(storage, secret, end), undefined)
  assert.deepEqual(await listSessions(storage, 1, end), [])
  const next = await signedIn(storage, end)
  assert.deepEqual(await stored(storage, 'sessions'), [sha256(next)])
})

test('deletes expired sign-in links when another is created', async (t) => {
  const storage = await opened(t)
  await insertLoginToken(storage, 1, { lifetimeMs: minute, now: start })
  const other = await insertLoginToken(storage, 2, { lifetimeMs: 2 * minute, now: start })
  const next = await insertLoginToken(storage, 1, { lifetimeMs: minute, now: start + minute })
  const expected = [other, next].map((token) => sha256(token))
  assert.deepEqual((await stored(storage, 'login_tokens')).sort(), expected.sort())
})

test('a sign-in link of a session works only while that session is open', async (t) => {
  const storage = await opened(t)
  const key = await newKey(storage, 1)
  const begun = async () => {
    const session = await findSession(storage, await signInByKey(storage, 1, key, firefox, start), start)
    return session?.id ?? assert.fail('The session is not open.')
  }
  const linkOf = (session: number) => insertLoginToken(storage, 1, { session, now: start })
  const use = (token: string) => signInByToken(storage, token, firefox, start)
  const [open, ended, ofKey] = [await begun(), await begun(), await begun()]
  const [valid, gone, revoked] = [await linkOf(open), await linkOf(ended), await linkOf(ofKey)]
  assert.notEqual(await use(valid), undefined)
  await removeSession(storage, 1, ended)
  assert.equal(await use(gone), undefined)
  await revokeKey(storage, systemActor(1), key)
  assert.equal(await use(revoked), undefined)
})

test('deletes the account’s oldest sign-in links at the limit', async (t) => {
  const storage = await opened(t)
  const other = await insertLoginToken(storage, 2, { now: start })
  const tokens: string[] = []
  for (let n = 0; n <= maxTokens; n++) tokens.push(await insertLoginToken(storage, 1, { now: start + n }))
  assert.equal((await stored(storage, 'login_tokens')).length, maxTokens + 1)
  const [first = '', second = ''] = tokens
  assert.equal(await signInByToken(storage, first, firefox, start), undefined)
  for (const token of [second, other]) assert.notEqual(await signInByToken(storage, token, firefox, start), undefined)
})

test('finds no session with another account’s key', async (t) => {
  const storage = await opened(t)
  const secret = await signInByKey(storage, 1, await newKey(storage, 2), firefox, start)
  assert.equal(await findSession(storage, secret, start), undefined)
  for (const account of [1, 2]) assert.deepEqual(await listSessions(storage, account, start), [])
})

test('stores a use at most every five minutes', async (t) => {
  const storage = await opened(t)
  const secret = await signedIn(storage)
  const lastUse = async () => (await listSessions(storage, 1, start))[0]?.last_used_at
  await findSession(storage, secret, start + 5 * minute - 1)
  assert.equal(await lastUse(), '2026-11-22T12:00:00.000Z')
  await findSession(storage, secret, start + 5 * minute)
  assert.equal(await lastUse(), '2026-11-22T12:05:00.000Z')
  await findSession(storage, secret, start + 10 * minute - 1)
  assert.equal(await lastUse(), '2026-11-22T12:05:00.000Z')
})

test('finds a session even if its use cannot be stored', async (t) => {
  const storage = await opened(t)
  const secret = await signedIn(storage)
  const failing = (error: Error) =>
    withMethods(storage, {
      execute: (asked) => (isRead(asked.toOperationNode()) ? storage.execute(asked) : Promise.reject(error)),
    })
  const later = start + 10 * minute
  const full = new Failure('database_unavailable', 'The disk is full.')
  assert.equal((await findSession(failing(full), secret, later))?.id, 1)
  await assert.rejects(findSession(failing(new TypeError('a bug')), secret, later), TypeError)
})

test('lists sessions by last use', async (t) => {
  const storage = await opened(t)
  const secrets = [await signedIn(storage), await signedIn(storage), await signedIn(storage)]
  await signInByKey(storage, 2, await newKey(storage, 2), firefox, start)
  await findSession(storage, String(secrets[1]), start + 6 * minute)
  const ids = (await listSessions(storage, 1, start)).map(({ id }) => id)
  assert.deepEqual(ids, [2, 3, 1])
})

test('ends the account’s oldest session at the limit', async (t) => {
  const storage = await opened(t)
  const [key, others] = [await newKey(storage, 1), await newKey(storage, 2)]
  const other = await signInByKey(storage, 2, others, firefox)
  const first = await signInByKey(storage, 1, key, firefox)
  const second = await signInByKey(storage, 1, key, firefox)
  for (let n = 0; n < maxSessions - 2; n += 25) {
    const more = Math.min(25, maxSessions - 2 - n)
    await Promise.all(Array.from({ length: more }, () => signInByKey(storage, 1, key, firefox)))
  }
  assert.equal((await listSessions(storage, 1)).length, maxSessions)
  const last = await signInByKey(storage, 1, key, firefox)
  const open = await listSessions(storage, 1)
  assert.equal(open.length, maxSessions)
  assert.equal(await findSession(storage, first), undefined)
  const sessions = [
    await findSession(storage, other),
    await findSession(storage, second),
    await findSession(storage, last),
  ]
  assert.deepEqual(
    sessions.map((session) => session?.id),
    [1, 3, open[0]?.id],
  )
})
