/** Stored passkeys on both engines. The tests of browsers verify signatures. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../../test/engine.ts'
import { newMember } from '../../../test/members.ts'
import { createAccount } from '../../accounts/store.ts'
import { findSession } from '../../sessions/store.ts'
import type { Db } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import {
  findCredential,
  insertPasskey,
  insertPersonWithPasskey,
  listPasskeys,
  type NewPasskey,
  removePasskey,
  signInByPasskey,
} from './store.ts'

const minute = 60_000

function signed() {
  return { challenge: randomBytes(16).toString('base64url'), expiresAt: Date.now() + minute }
}

function newPasskey(): NewPasskey {
  const [credentialId, publicKey] = [randomBytes(16).toString('base64url'), Buffer.from('key')]
  return { ...signed(), credentialId, publicKey, counter: 0, transports: ['internal'], handle: randomBytes(32) }
}

/** Returns a database with a member of the account Acme who has a passkey, and a function that signs in with it. */
async function opened(t: TestContext) {
  const db = await newStorage((work) => t.after(work))
  const account = (await createAccount(db, 'Acme')).id
  const passkey = newPasskey()
  const person = await db.write((tx) => insertPersonWithPasskey(tx, passkey, 'Laptop'))
  const member = await newMember(db, account, { person })
  const { id = 0 } = (await findCredential(db, passkey.credentialId)) ?? {}
  const signIn = (change: { counter?: number } & Partial<ReturnType<typeof signed>> = {}) =>
    signInByPasskey(db, { ...signed(), id, person, counter: 0, browser: 'Firefox', ...change })
  return { db, account, person, member, passkey, id, signIn }
}

function add(db: Db, person: number, passkey = newPasskey()): Promise<string> {
  const added = db.write((tx) => insertPasskey(tx, person, passkey, 'Phone'))
  return added.then(
    () => 'stored',
    ({ facts }) => facts.violations[0].code,
  )
}

test('stores ten passkeys of a person, even with simultaneous requests', async (t) => {
  const { db, person } = await opened(t)
  const results = await Promise.all(Array.from({ length: 12 }, () => add(db, person)))
  assert.deepEqual(results.sort(), [...Array(9).fill('stored'), ...Array(3).fill('too_many')])
  assert.equal((await listPasskeys(db, person)).length, 10)
})

test('stores a passkey once, and for each challenge one', async (t) => {
  const { db, person, passkey } = await opened(t)
  const other = await db.write((tx) => insertPersonWithPasskey(tx, newPasskey(), 'Other'))
  for (const each of [passkey, { ...passkey, ...signed() }, { ...newPasskey(), challenge: passkey.challenge }]) {
    for (const owner of [person, other]) assert.equal(await add(db, owner, each), 'not_allowed')
  }
  const joining = db.write((tx) => insertPersonWithPasskey(tx, passkey, 'Again'))
  await assert.rejects(joining, { code: 'validation_failed' })
  assert.equal((await db.execute(query.selectFrom('people').select('id'))).length, 2)
})

test('signs in with each challenge once', async (t) => {
  const { db, member, signIn } = await opened(t)
  const same = signed()
  const secrets = await Promise.all(Array.from({ length: 5 }, () => signIn(same)))
  const begun = secrets.filter((secret) => secret !== undefined)
  assert.equal(begun.length, 1)
  const session = await findSession(db, String(begun[0]))
  assert.deepEqual([session?.method, session?.member?.id], ['passkey', member.id])
})

test('deletes used challenges after they have expired', async (t) => {
  const { db, signIn } = await opened(t)
  const count = async () => (await db.execute(query.selectFrom('used_tokens').select('hash'))).length
  await signIn()
  assert.equal(await count(), 2)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + minute })
  await signIn()
  assert.equal(await count(), 1)
})

test('rejects a signature counter that does not rise', async (t) => {
  const { signIn } = await opened(t)
  const isAccepted = async (counter: number) => (await signIn({ counter })) !== undefined
  for (const [counter, expected] of [
    [0, true],
    [0, true],
    [5, true],
    [5, false],
    [4, false],
    [0, false],
    [6, true],
  ] as const) {
    assert.equal(await isAccepted(counter), expected, String(counter))
  }
  const answers = await Promise.all([7, 7, 7].map(isAccepted))
  assert.equal(answers.filter(Boolean).length, 1)
})

test('signs in to the account that the person used last', async (t) => {
  const { db, person, member, signIn } = await opened(t)
  const other = await newMember(db, (await createAccount(db, 'Other')).id, { person })
  const accountOf = async () => (await findSession(db, String(await signIn())))?.account.name
  const used = (id: number, at: string | null) =>
    db.execute(query.updateTable('members').set({ last_seen_at: at }).where('id', '=', id))
  for (const [first, second, expected] of [
    ['2099-01-01T00:00:00.000Z', '2098-01-01T00:00:00.000Z', 'Acme'],
    ['2098-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z', 'Other'],
    ['2020-01-01T00:00:00.000Z', null, 'Other'],
  ] as const) {
    await used(member.id, first)
    await used(other.id, second)
    assert.equal(await accountOf(), expected)
  }
})

test('rejects a removed passkey, and people without an account', async (t) => {
  const { db, person, member, id, signIn } = await opened(t)
  assert.equal(await removePasskey(db, person + 1, id), false)
  await db.execute(query.deleteFrom('members').where('id', '=', member.id))
  assert.equal(await signIn(), undefined)
  await newMember(db, member.account, { person })
  assert.notEqual(await signIn(), undefined)
  assert.equal(await removePasskey(db, person, id), true)
  assert.equal(await signIn(), undefined)
})
