/** Members and invitations on both engines. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { newMember } from '../../test/members.ts'
import { type Actor, createActor, systemActor } from '../access/actor.ts'
import { type Role, scopesOfRole } from '../access/roles.ts'
import { createAccount } from '../accounts/store.ts'
import { createKey, listKeys } from '../keys/store.ts'
import { findSession, insertLoginToken, type MemberId, signInByToken, signInMember } from '../sessions/store.ts'
import type { PageRequest, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { changeMember, removeMember, renameMember, setOidcMember } from './changes.ts'
import {
  createInvitation,
  deleteInvitation,
  findInvitation,
  findInvitationByToken,
  invitationLifetimeMs,
  type Joining,
  joinAccount,
  listInvitations,
  maxInvitations,
} from './invitations.ts'
import { ensurePerson, insertPerson, listPersonAccounts, memberRecords, type OidcIdentity } from './store.ts'

/** A database with the accounts Acme and Other, 1 and 2. */
async function opened(t: TestContext): Promise<Storage> {
  const storage = await newStorage((work) => t.after(work))
  for (const name of ['Acme', 'Other']) await createAccount(storage, name)
  return storage
}

function actorFor({ account, id }: MemberId, name = 'Ana', role: Role = 'owner'): Actor {
  return createActor({ account, kind: 'member', id, name, scopes: scopesOfRole(role) }, null)
}

const editor = { role: 'editor', name: null, email: null } as const
const removal = { keepsKeys: false, precondition: null }
const firstPage: PageRequest = {
  ...{ search: [], searchIn: [], filter: {}, sortBy: 'id', limit: 100, offset: 0, after: null },
  direction: 'asc',
}

/** Joins as a stored person, with an identity at a provider, or as a new person. */
const join = (storage: Storage, token: string, { oidc, ...joining }: Partial<Joining> & { oidc?: OidcIdentity } = {}) =>
  storage.write(async (tx) => {
    const person = joining.person ?? (await (oidc ? ensurePerson(tx, oidc) : insertPerson(tx, null)))
    return joinAccount(tx, { token, name: 'Ben', ...joining, person }, 'request-1')
  })

const roleOf = async (storage: Storage, { account, id }: MemberId) =>
  (await memberRecords.find(storage, account, id))?.record.role

const events = async (storage: Storage, account = 1) => {
  const all = query.selectFrom('events').selectAll().where('account_id', '=', account).orderBy('id')
  return (await storage.execute(all)).map((row) => ({ ...row, type: `${row.record}.${row.action}` }))
}

const personOf = async (storage: Storage, { id }: MemberId) => {
  const [row] = await storage.execute(query.selectFrom('members').select('person_id').where('id', '=', id))
  return Number(row?.person_id)
}

test('a person joins with an invitation, which then is gone', async (t) => {
  const storage = await opened(t)
  const ana = await newMember(storage, 1)
  const wanted = { role: 'editor', name: 'Benjamin', email: 'Ben@acme.com' } as const
  const { invitation, secret } = await createInvitation(storage, actorFor(ana), wanted)
  assert.deepEqual(await findInvitationByToken(storage, secret), {
    ...wanted,
    ...{ id: invitation.record.id, account: { id: 1, name: 'Acme' }, inviter: 'Ana' },
  })
  const ben = await join(storage, secret)
  const { record } = (await memberRecords.find(storage, 1, ben.id)) ?? assert.fail('Ben is no member.')
  assert.deepEqual([record.name, record.email, record.role], ['Ben', 'Ben@acme.com', 'editor'])
  assert.equal(await findInvitationByToken(storage, secret), undefined)
  const [, created, joined, deleted] = await events(storage)
  assert.deepEqual(
    [created, joined, deleted].map((event) => [event?.type, event?.record_name, event?.actor_id, event?.request_id]),
    [
      ['invitation.created', 'Benjamin', ana.id, null],
      ['member.joined', 'Ben', ben.id, 'request-1'],
      ['invitation.deleted', 'Benjamin', ben.id, 'request-1'],
    ],
  )
  assert.equal(joined?.batch_id, deleted?.batch_id)
  await assert.rejects(join(storage, secret), { code: 'not_found' })
})

test('one of two people joins if both open an invitation at the same time', async (t) => {
  const storage = await opened(t)
  const { secret } = await createInvitation(storage, systemActor(1), editor)
  const joined = await Promise.allSettled([1, 2, 3].map(() => join(storage, secret)))
  assert.equal(joined.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const each of joined) if (each.status === 'rejected') assert.equal(each.reason.code, 'not_found')
})

test('a person joins an account once, even with two invitations at the same time', async (t) => {
  const storage = await opened(t)
  const person = await personOf(storage, await newMember(storage, 2))
  const secrets = await Promise.all(
    [1, 2].map(async () => (await createInvitation(storage, systemActor(1), editor)).secret),
  )
  const joined = await Promise.allSettled(secrets.map((secret) => join(storage, secret, { person })))
  const failed = joined.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
  assert.deepEqual(failed, ['already_member'])
  const open = await listInvitations(storage, 1, firstPage)
  assert.equal(open.rows.length, 1, 'The other invitation stays open.')
  assert.deepEqual(
    (await listPersonAccounts(storage, person)).map(({ name }) => name),
    ['Acme', 'Other'],
  )
})

test('an identity at a provider is one person, even if it joins two accounts at the same time', async (t) => {
  const storage = await opened(t)
  for (let round = 0; round < 5; round++) {
    const oidc = { issuer: 'https://id.acme.com', subject: String(round) }
    const invitations = [1, 2].map(async (account) => createInvitation(storage, systemActor(account), editor))
    const secrets = (await Promise.all(invitations)).map(({ secret }) => secret)
    const joined = await Promise.all(secrets.map((secret) => join(storage, secret, { oidc })))
    const people = await Promise.all(joined.map((each) => personOf(storage, each)))
    assert.equal(new Set(people).size, 1)
  }
})

test('a member has the verified email of OpenID Connect, otherwise the invitation’s email', async (t) => {
  const storage = await opened(t)
  const oidc = { issuer: 'https://id.acme.com', subject: '1' }
  const invited = { ...editor, email: 'ben@acme.com' }
  const { secret } = await createInvitation(storage, systemActor(1), invited)
  const ben = await join(storage, secret, { oidc, verifiedEmail: 'ben@ACME.com' })
  const { record } = (await memberRecords.find(storage, 1, ben.id)) ?? assert.fail('Ben is no member.')
  assert.deepEqual([record.email, record.sign_in], ['ben@ACME.com', 1])
  // The same identity is the same person.
  const other = await createInvitation(storage, systemActor(2), invited)
  const again = await join(storage, other.secret, { oidc })
  assert.equal((await memberRecords.find(storage, 2, again.id))?.record.email, 'ben@acme.com')
  assert.equal(await personOf(storage, again), await personOf(storage, ben))
})

test('invitations end after 7 days, and an account has at most 100 open ones', async (t) => {
  const storage = await opened(t)
  const now = Date.now()
  const issued = []
  for (let i = 0; i < maxInvitations; i++) issued.push(await createInvitation(storage, systemActor(1), editor, now))
  await assert.rejects(createInvitation(storage, systemActor(1), editor, now), { code: 'validation_failed' })
  await createInvitation(storage, systemActor(2), editor, now)
  const [first, second] = issued
  const id = first?.invitation.record.id ?? 0
  await deleteInvitation(storage, systemActor(1), second?.invitation.record.id ?? 0)
  await createInvitation(storage, systemActor(1), editor, now)
  await assert.rejects(deleteInvitation(storage, systemActor(2), id), { code: 'not_found' })
  const end = now + invitationLifetimeMs
  assert.ok((await findInvitation(storage, 1, id, end - 1)) && !(await findInvitation(storage, 1, id, end)))
  const secret = first?.secret ?? ''
  assert.ok(await findInvitationByToken(storage, secret, end - 1))
  assert.equal(await findInvitationByToken(storage, secret, end), undefined)
  await assert.rejects(join(storage, secret, { now: end }), { code: 'not_found' })
  assert.equal((await listInvitations(storage, 1, firstPage, end)).total, 0)
  await createInvitation(storage, systemActor(1), editor, end)
  const left = await storage.execute(query.selectFrom('invitations').select('id').where('account_id', '=', 1))
  assert.equal(left.length, 1, 'Expired invitations are deleted.')
})

test('an account keeps an owner, even if two owners demote or remove each other at the same time', async (t) => {
  const storage = await opened(t)
  const remove = (actor: MemberId, id: number) => removeMember(storage, actorFor(actor), id, removal)
  const demote = (actor: MemberId, id: number) => changeMember(storage, actorFor(actor), id, { role: 'viewer' })
  let ana = await newMember(storage, 1)
  for (const [one, two] of [
    [demote, demote],
    [remove, remove],
    [demote, remove],
  ] as const) {
    const ben = await newMember(storage, 1)
    const done = await Promise.allSettled([one(ana, ben.id), two(ben, ana.id)])
    const failed = done.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    assert.deepEqual(failed, ['last_owner'])
    ana = (await roleOf(storage, ana)) === 'owner' ? ana : ben
    assert.equal(await roleOf(storage, ana), 'owner')
  }
  await assert.rejects(demote(ana, ana.id), { code: 'last_owner' })
  await assert.rejects(remove(ana, ana.id), { code: 'last_owner' })
  await changeMember(storage, actorFor(ana), ana.id, { role: 'owner' })
})

test('a removed member loses sessions, sign-in links, invitations and keys; their name stays in one batch', async (t) => {
  const storage = await opened(t)
  const ana = await newMember(storage, 1)
  const ben = await newMember(storage, 1, { name: 'Ben' })
  const actor = actorFor(ben, 'Ben')
  const session = await signInMember(storage, ben, { method: 'passkey', browser: 'Firefox' })
  const link = await insertLoginToken(storage, ben)
  const { secret } = await createInvitation(storage, actor, editor)
  const wanted = { name: 'ci', scopes: ['links:read'], lifetimeMs: null } as const
  const { key } = await createKey(storage, actor, wanted)
  const person = await personOf(storage, ben)
  await assert.rejects(removeMember(storage, systemActor(2), ben.id, removal), { code: 'not_found' })
  await removeMember(storage, actorFor(ana), ben.id, removal)
  assert.equal(await findSession(storage, session), undefined)
  assert.equal(await signInByToken(storage, link, 'Firefox'), undefined)
  assert.equal(await findInvitationByToken(storage, secret), undefined)
  const [stored] = await listKeys(storage, 1)
  assert.ok(stored?.id === key.id && stored.revoked_at !== null && stored.created_by === 'Ben')
  assert.deepEqual(await storage.execute(query.selectFrom('people').select('id').where('id', '=', person)), [])
  const last = (await events(storage)).slice(-3)
  assert.deepEqual(
    last.map(({ type, record_name }) => [type, record_name]),
    [
      ['member.removed', 'Ben'],
      ['key.revoked', 'ci'],
      ['invitation.deleted', 'editor'],
    ],
  )
  assert.equal(new Set(last.map(({ batch_id }) => batch_id)).size, 1)
  await assert.rejects(removeMember(storage, actorFor(ana), ben.id, removal), { code: 'not_found' })
})

test('an invitation by a key ends with the member who created the key', async (t) => {
  const storage = await opened(t)
  await newMember(storage, 1)
  const ben = await newMember(storage, 1, { name: 'Ben' })
  const { key } = await createKey(storage, actorFor(ben, 'Ben'), { name: 'ci', scopes: ['*'], lifetimeMs: null })
  const byKey = createActor({ account: 1, kind: 'key', id: key.id, name: 'ci', scopes: key.scopes }, null)
  const { invitation, secret } = await createInvitation(storage, byKey, editor)
  assert.deepEqual([invitation.record.member_id, invitation.record.inviter], [ben.id, 'Ben'])
  // What began before the removal ends before it, or fails.
  const works = await Promise.allSettled([
    createInvitation(storage, byKey, editor),
    removeMember(storage, systemActor(1), ben.id, removal),
    createInvitation(storage, actorFor(ben), editor),
    createInvitation(storage, byKey, editor),
  ])
  assert.equal(works[1].status, 'fulfilled')
  assert.equal(await findInvitationByToken(storage, secret), undefined)
  assert.deepEqual(await storage.execute(query.selectFrom('invitations').select('id')), [])
  await assert.rejects(createInvitation(storage, byKey, editor), { code: 'revoked_api_key' })
  await assert.rejects(createInvitation(storage, actorFor(ben), editor), { code: 'not_found' })
})

test('keys of a removed member can stay, and so does the person in other accounts', async (t) => {
  const storage = await opened(t)
  await newMember(storage, 1)
  const ben = await newMember(storage, 1, { name: 'Ben' })
  const person = await personOf(storage, ben)
  const elsewhere = await newMember(storage, 2, { name: 'Ben', person })
  const session = await signInMember(storage, elsewhere, { method: 'passkey', browser: 'Firefox' })
  await createKey(storage, actorFor(ben, 'Ben'), { name: 'ci', scopes: ['*'], lifetimeMs: null })
  await removeMember(storage, systemActor(1), ben.id, { ...removal, keepsKeys: true })
  const [key] = await listKeys(storage, 1)
  assert.deepEqual([key?.revoked_at, key?.member_id, key?.created_by], [null, null, 'Ben'])
  assert.ok(await findSession(storage, session))
  assert.deepEqual(await listPersonAccounts(storage, person), [{ id: 2, name: 'Other' }])
})

test('only changed values cause events, and a provider cannot demote the last owner', async (t) => {
  const storage = await opened(t)
  const ana = await newMember(storage, 1)
  const before = (await events(storage)).length
  const set = (values: Parameters<typeof setOidcMember>[2]) =>
    storage.write((tx) => setOidcMember(tx, ana, values, 'request-2'))
  await set({ role: 'editor' })
  await set({})
  assert.equal(await roleOf(storage, ana), 'owner')
  await renameMember(storage, actorFor(ana), ana.id, 'Ana')
  assert.equal((await events(storage)).length, before)
  const { record } = await set({ email: 'ana@acme.com' })
  assert.equal(record.email, 'ana@acme.com')
  await newMember(storage, 1)
  await set({ role: 'editor' })
  const updated = (await events(storage)).filter(({ type }) => type === 'member.updated')
  assert.deepEqual(
    updated.map(({ changes }) => JSON.parse(changes ?? '')),
    [{ email: [null, 'ana@acme.com'] }, { role: ['owner', 'editor'] }],
  )
})
