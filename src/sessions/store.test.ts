/** Sign-in links and sessions on both engines. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { newMember } from '../../test/members.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount, updateAccount } from '../accounts/store.ts'
import { Failure } from '../errors.ts'
import { createKey } from '../keys/store.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import {
  findSession,
  insertLoginToken,
  listSessions,
  type MemberId,
  maxSessions,
  maxTokens,
  removeSessions,
  signInByKey,
  signInByToken,
  signInMember,
  switchAccount,
} from './store.ts'
import { sessionLifetimeMs } from './token.ts'

const minute = 60_000
const start = Date.parse('2026-11-22T12:00:00.000Z')
const firefox = 'Firefox on Linux'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Members with the ids 1 and 2 of the accounts 1 and 2. */
const ana: MemberId = { account: 1, id: 1 }
const ben: MemberId = { account: 2, id: 2 }
const anas = { account: 1, member: 1 }

/** A database with the accounts Acme and Other, and with Ana in the one and Ben in the other. */
async function opened(t: TestContext): Promise<Storage> {
  const storage = await newStorage((work) => t.after(work))
  for (const name of ['Acme', 'Other']) await createAccount(storage, name)
  assert.deepEqual(
    [await newMember(storage, 1), await newMember(storage, 2, { name: 'Ben', role: 'editor' })],
    [ana, ben],
  )
  return storage
}

/** The secret of a new session of Ana. */
async function signedIn(storage: Storage, now = start): Promise<string> {
  const token = await insertLoginToken(storage, ana, { lifetimeMs: minute, now })
  return (await signInByToken(storage, token, firefox, now)) ?? assert.fail('The token was refused.')
}

/** The secret of a new session of a key. */
async function signedInByKey(storage: Storage, account: number, key: number, now?: number): Promise<string> {
  return (await signInByKey(storage, account, key, firefox, now)) ?? assert.fail('Keys can’t sign in.')
}

async function newKey(storage: Storage, account: number, lifetimeMs: number | null = null): Promise<number> {
  return (await createKey(storage, systemActor(account), { name: 'mine', scopes: ['*'], lifetimeMs })).key.id
}

async function stored(storage: Storage, table: 'login_tokens' | 'sessions'): Promise<string[]> {
  const rows = await storage.execute(query.selectFrom(table).select('hash'))
  return rows.map(({ hash }) => Buffer.from(hash).toString('hex'))
}

test('a sign-in link starts a session of its member for 30 days', async (t) => {
  const storage = await opened(t)
  const token = await insertLoginToken(storage, ben)
  const now = Date.now()
  const secret = await signInByToken(storage, token, firefox, now)
  const accounts = query.selectFrom('accounts').select('created_at').where('id', '=', 2)
  const { created_at } = (await storage.execute(accounts))[0] ?? {}
  assert.deepEqual(await findSession(storage, String(secret), now), {
    id: 1,
    method: 'link',
    account: { id: 2, name: 'Other', time_zones: '[["UTC",0]]', created_at, canKeysSignIn: true },
    member: { id: 2, name: 'Ben', role: 'editor', person: { id: 2, timeZone: null, hasOtherAccounts: false } },
    key: null,
  })
  const [session] = await listSessions(storage, { person: 2 }, now)
  assert.equal(session?.browser, firefox)
  const times = [now, now, now + 30 * 24 * 60 * minute].map((time) => new Date(time).toISOString())
  assert.deepEqual([session?.created_at, session?.last_used_at, session?.expires_at], times)
  const seen = query.selectFrom('members').select('last_seen_at').orderBy('id')
  assert.deepEqual(
    (await storage.execute(seen)).map(({ last_seen_at }) => last_seen_at),
    [null, times[0]],
  )
})

test('a session lasts as long as its sign-in says', async (t) => {
  const storage = await opened(t)
  const oidc = { method: 'oidc', browser: firefox, oidcSid: 'sid', lifetimeMs: 2 * minute, now: start } as const
  const secret = await signInMember(storage, ana, oidc)
  assert.equal((await findSession(storage, secret, start + 2 * minute - 1))?.method, 'oidc')
  assert.equal(await findSession(storage, secret, start + 2 * minute), undefined)
})

test('concurrent requests with one sign-in link start one session', async (t) => {
  const storage = await opened(t)
  for (let round = 0; round < 5; round++) {
    const token = await insertLoginToken(storage, ana)
    const begun = await Promise.all(Array.from({ length: 8 }, () => signInByToken(storage, token, firefox)))
    assert.equal(begun.filter((session) => session !== undefined).length, 1)
  }
  assert.equal((await listSessions(storage, anas)).length, 5)
})

test('a sign-in link works for 30 minutes or its own lifetime', async (t) => {
  const storage = await opened(t)
  for (const [lifetime, made] of [
    [30 * minute, await insertLoginToken(storage, ana, { now: start })],
    [minute, await insertLoginToken(storage, ana, { lifetimeMs: minute, now: start })],
  ] as const) {
    assert.equal(await signInByToken(storage, made, firefox, start + lifetime), undefined)
    assert.notEqual(await signInByToken(storage, made, firefox, start + lifetime - 1), undefined)
  }
})

test('stores only the SHA-256 of secrets', async (t) => {
  const storage = await opened(t)
  const token = await insertLoginToken(storage, ana, { lifetimeMs: minute, now: start })
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
  assert.deepEqual(await listSessions(storage, anas, end), [])
  const next = await signedIn(storage, end)
  assert.deepEqual(await stored(storage, 'sessions'), [sha256(next)])
})

test('deletes expired sign-in links when another is created', async (t) => {
  const storage = await opened(t)
  await insertLoginToken(storage, ana, { lifetimeMs: minute, now: start })
  const other = await insertLoginToken(storage, ben, { lifetimeMs: 2 * minute, now: start })
  const next = await insertLoginToken(storage, ana, { lifetimeMs: minute, now: start + minute })
  const expected = [other, next].map((token) => sha256(token))
  assert.deepEqual((await stored(storage, 'login_tokens')).sort(), expected.sort())
})

test('deletes the account’s oldest sign-in links at the limit', async (t) => {
  const storage = await opened(t)
  const other = await insertLoginToken(storage, ben, { now: start })
  const tokens: string[] = []
  for (let n = 0; n <= maxTokens; n++) tokens.push(await insertLoginToken(storage, ana, { now: start + n }))
  assert.equal((await stored(storage, 'login_tokens')).length, maxTokens + 1)
  const [first = '', second = ''] = tokens
  assert.equal(await signInByToken(storage, first, firefox, start), undefined)
  for (const token of [second, other]) assert.notEqual(await signInByToken(storage, token, firefox, start), undefined)
})

test('finds no session with another account’s key', async (t) => {
  const storage = await opened(t)
  const secret = await signedInByKey(storage, 1, await newKey(storage, 2), start)
  assert.equal(await findSession(storage, secret, start), undefined)
  for (const account of [1, 2]) assert.deepEqual(await listSessions(storage, { account, key: 1 }, start), [])
})

test('stores a use at most every five minutes', async (t) => {
  const storage = await opened(t)
  const secret = await signedIn(storage)
  const lastUse = async () => (await listSessions(storage, anas, start))[0]?.last_used_at
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
  const failing = (error: Error) => withMethods(storage, { write: () => Promise.reject(error) })
  const later = start + 10 * minute
  const full = new Failure('database_unavailable', 'The disk is full.')
  assert.equal((await findSession(failing(full), secret, later))?.id, 1)
  await assert.rejects(findSession(failing(new TypeError('a bug')), secret, later), TypeError)
})

test('lists the sessions of a member, a person or a key by last use', async (t) => {
  const storage = await opened(t)
  const secrets = [await signedIn(storage), await signedIn(storage), await signedIn(storage)]
  const key = await newKey(storage, 2)
  await signedInByKey(storage, 2, key, start)
  const again = await newMember(storage, 2, { person: 1 })
  await signInMember(storage, again, { method: 'passkey', browser: firefox, now: start })
  await findSession(storage, String(secrets[1]), start + 6 * minute)
  for (const [owner, ids] of [
    [anas, [2, 3, 1]],
    [{ person: 1 }, [2, 5, 3, 1]],
    [{ account: 2, member: again.id }, [5]],
    [{ account: 2, key }, [4]],
    [{ account: 1, key }, []],
    [{ account: 2, member: ana.id }, []],
    [{ account: 1, member: again.id }, []],
  ] as const) {
    assert.deepEqual(
      (await listSessions(storage, owner, start)).map(({ id }) => id),
      ids,
    )
  }
})

test('at the limit, ends the same person’s or key’s oldest session', async (t) => {
  const storage = await opened(t)
  const key = await newKey(storage, 1)
  const another = await newMember(storage, 1)
  const again = await newMember(storage, 2, { person: 1 })
  const byPasskey = { method: 'passkey', browser: firefox } as const
  const others = [
    await signedInByKey(storage, 1, await newKey(storage, 1)),
    await signInMember(storage, another, byPasskey),
  ]
  for (const [owner, begin] of [
    [{ account: 1, key }, () => signedInByKey(storage, 1, key)],
    // The sessions of a person count together, because each can switch its account.
    [{ person: 1 }, (n: number) => signInMember(storage, n % 2 === 0 ? ana : again, byPasskey)],
  ] as const) {
    const first = await begin(0)
    const second = await begin(1)
    for (let n = 2; n < maxSessions; n++) await begin(n)
    assert.equal((await listSessions(storage, owner)).length, maxSessions)
    const last = await begin(maxSessions)
    assert.equal((await listSessions(storage, owner)).length, maxSessions)
    assert.equal(await findSession(storage, first), undefined)
    for (const secret of [second, last, ...others]) assert.notEqual(await findSession(storage, secret), undefined)
  }
})

/** Removes a member as a transaction of its own, with everything that refers to them. */
async function remove(storage: Storage, { id }: MemberId): Promise<void> {
  await storage.execute(query.deleteFrom('members').where('id', '=', id))
}

test('a member’s sessions and sign-in links end with the member', async (t) => {
  const storage = await opened(t)
  const secret = await signedIn(storage)
  const token = await insertLoginToken(storage, ana)
  const again = await newMember(storage, 2, { person: 1 })
  const elsewhere = await signInMember(storage, again, { method: 'passkey', browser: firefox, now: start })
  await remove(storage, ana)
  assert.equal(await findSession(storage, secret, start), undefined)
  assert.equal(await signInByToken(storage, token, firefox), undefined)
  await assert.rejects(signInMember(storage, ana, { method: 'passkey', browser: firefox }), { code: 'not_found' })
  assert.deepEqual(await stored(storage, 'login_tokens'), [])
  assert.equal((await findSession(storage, elsewhere, start))?.account.id, 2)
})

test('no session survives its member, whatever happens at the same time', async (t) => {
  const storage = await opened(t)
  const passkey = { method: 'passkey', browser: firefox } as const
  const refused = (error: unknown) => assert.equal((error as Failure).code, 'not_found')
  for (let round = 0; round < 20; round++) {
    const here = await newMember(storage, 1)
    const [row] = await storage.execute(query.selectFrom('members').select('person_id').where('id', '=', here.id))
    const person = row?.person_id ?? 0
    const there = await newMember(storage, 2, { person })
    const token = await insertLoginToken(storage, here)
    const secrets = [await signInMember(storage, there, passkey), await signInMember(storage, here, passkey)]
    const [moving, leaving] = [
      await findSession(storage, String(secrets[0])),
      await findSession(storage, String(secrets[1])),
    ]
    const works = [
      () => remove(storage, here),
      () => signInByToken(storage, token, firefox),
      () => signInMember(storage, here, passkey).catch(refused),
      () => switchAccount(storage, moving?.id ?? 0, person, 1),
      () => switchAccount(storage, leaving?.id ?? 0, person, 2),
      () => findSession(storage, String(secrets[1]), Date.now() + 6 * minute),
    ]
    const shift = round % works.length
    await Promise.all([...works.slice(shift), ...works.slice(0, shift)].map((work) => work()))
    const left = await storage.execute(query.selectFrom('sessions').select(['account_id', 'member_id']))
    for (const session of left) assert.deepEqual(session, { account_id: 2, member_id: there.id })
    assert.equal(await removeSessions(storage, { person }, null), left.length)
  }
})

test('ends key sessions when the account lets no keys sign in', async (t) => {
  const storage = await opened(t)
  const [key, others] = [await newKey(storage, 1), await newKey(storage, 2)]
  const [secret, own] = [await signedInByKey(storage, 1, key, start), await signedIn(storage)]
  const other = await signedInByKey(storage, 2, others, start)
  const account = { name: 'Acme', time_zone: 'UTC' }
  const change = (key_sign_in: boolean) => updateAccount(storage, systemActor(1), { ...account, key_sign_in })
  await change(false)
  assert.equal(await findSession(storage, secret, start), undefined)
  assert.deepEqual(await listSessions(storage, { account: 1, key }, start), [])
  assert.equal(await signInByKey(storage, 1, key, firefox, start), undefined)
  assert.equal((await findSession(storage, own, start))?.account.canKeysSignIn, false)
  assert.equal((await findSession(storage, other, start))?.account.canKeysSignIn, true)
  await change(true)
  assert.equal(await findSession(storage, secret, start), undefined)
  assert.notEqual(await findSession(storage, await signedInByKey(storage, 1, key, start), start), undefined)
  await Promise.all([change(false), ...Array.from({ length: 8 }, () => signInByKey(storage, 1, key, firefox, start))])
  await change(true)
  assert.deepEqual(await listSessions(storage, { account: 1, key }, start), [])
})
