/** Changes of members: roles, names and removals. An account always has an owner. */
import { type Actor, allows, createActor, systemActor } from '../access/actor.ts'
import { type Role, scopesOfRole } from '../access/roles.ts'
import { found, lastOwner } from '../errors.ts'
import { deletedEvent, updatedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { cancelJob } from '../jobs/store.ts'
import { narrowMemberKeys, revokeMemberKeys } from '../keys/store.ts'
import { foldCase } from '../lib/text.ts'
import type { MemberId } from '../sessions/store.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import { query } from '../storage/schema.ts'
import { deleteMemberInvitations } from './invitations.ts'
import {
  describedMember,
  lockAccount,
  type MemberRow,
  memberRecords,
  requireWriter,
  scheduleDeparture,
  selectOwners,
} from './store.ts'

/**
 * Changes the role of a member of the actor's account, and when their access ends. Throws `not_found`, `last_owner` and what `check`
 * throws before.
 */
export function changeMember(
  db: Db,
  actor: Actor,
  id: number,
  { role, access_ends_at }: Pick<MemberValues, 'role' | 'access_ends_at'>,
  check: (member: Versioned<MemberRow>) => void = () => undefined,
): Promise<Versioned<MemberRow>> {
  return db.write(async (tx) => {
    const before = await lockMember(tx, actor.account, id)
    check(before)
    const leaves = (role !== undefined && role !== 'owner') || typeof access_ends_at === 'string'
    if (leaves) await requireOtherOwner(tx, actor.account, before.record)
    await requireWriter(tx, actor)
    return change(tx, actor, before.record, { role, access_ends_at })
  })
}

/** Changes the name of a member of the actor's account. Throws `not_found`. */
export function renameMember(db: Db, actor: Actor, id: number, name: string): Promise<Versioned<MemberRow>> {
  return db.write(async (tx) => {
    const { record } = await lockMember(tx, actor.account, id)
    return change(tx, actor, record, { name })
  })
}

/** New values of a member. An undefined value stays unchanged. */
interface MemberValues {
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly role?: Role | undefined
  readonly access_ends_at?: string | null | undefined
}

/**
 * Stores what the provider of OpenID Connect says when a member signs in, in a transaction: their verified email address, and
 * the role from `OIDC_ROLES`. The last owner stays an owner. Throws `not_found`.
 */
export async function setOidcMember(
  tx: Db,
  { account, id }: MemberId,
  { email, role }: Pick<MemberValues, 'email' | 'role'>,
  requestId: string | null,
): Promise<Versioned<MemberRow>> {
  const { record } = await lockMember(tx, account, id)
  const scopes = scopesOfRole(record.role)
  const actor = createActor({ account, kind: 'member', id, name: record.name, scopes }, requestId)
  if (role === undefined) return change(tx, actor, record, { email })
  const kept = role !== 'owner' && (await isLastOwner(tx, account, record)) ? record.role : role
  return change(tx, actor, record, { email, role: kept }, { has_oidc_role: 1 })
}

/** How a member is removed. */
interface MemberRemoval {
  /** Whether the keys that they created stay valid. */
  readonly keepsKeys: boolean
  readonly precondition: Precondition | null
}

/**
 * Removes a member from the actor's account, with their sessions, sign-in links and open invitations, and revokes their keys.
 * Someone who is a member of no other account loses their passkeys, too. Throws `not_found`, `last_owner` and what
 * `precondition` throws.
 */
export function removeMember(
  db: Db,
  actor: Actor,
  id: number,
  { keepsKeys, precondition }: MemberRemoval,
): Promise<void> {
  const { account } = actor
  return db.write(async (tx) => {
    // What refers to the member waits for this lock, and then fails: keys, invitations and sessions.
    const { record, version } = await lockMember(tx, account, id)
    precondition?.check(version)
    await requireOtherOwner(tx, account, record)
    await requireWriter(tx, actor)
    await remove(tx, actor, record, keepsKeys)
  })
}

/** Defines the job that removes a member when their access ends. */
export function defineDepartures(jobs: Jobs, storage: Storage): void {
  jobs.define('departure', ({ account, record_id: id, now }) =>
    storage.write(async (tx) => {
      const { record } = await lockMember(tx, Number(account), id)
      const { access_ends_at } = record
      // It was moved since the job began.
      if (access_ends_at === null || Date.parse(access_ends_at) > now) return
      await remove(tx, systemActor(Number(account)), record, false)
    }),
  )
}

async function remove(tx: Db, actor: Actor, member: MemberRow, keepsKeys: boolean): Promise<void> {
  const { account } = actor
  const { id, role } = member
  const removed = { ...deletedEvent(describedMember, member, {}), action: 'removed', kept: undefined } as const
  await recordEvents(tx, actor, [removed])
  await (keepsKeys ? narrowMemberKeys(tx, account, id, role) : revokeMemberKeys(tx, actor, id))
  await deleteMemberInvitations(tx, actor, id)
  await cancelJob(tx, { record: 'member', record_id: id })
  const own = query.deleteFrom('members').where('id', '=', id).where('account_id', '=', account)
  const [row] = await tx.execute(own.returning('person_id'))
  if (row !== undefined) await removePerson(tx, row.person_id)
}

/** Deletes a person who is a member of no account. */
async function removePerson(tx: Db, person: number): Promise<void> {
  // Waits for a transaction that adds the person to another account.
  await tx.execute(query.selectFrom('people').select('id').where('id', '=', person).forUpdate())
  const members = query.selectFrom('members').select('id').where('person_id', '=', person)
  const own = query.deleteFrom('people').where('id', '=', person)
  await tx.execute(own.where(({ not, exists }) => not(exists(members))))
}

/** Locks the account and one of its members. Throws `not_found`. */
async function lockMember(tx: Db, account: number, id: number): Promise<Versioned<MemberRow>> {
  await lockAccount(tx, account)
  return found(await memberRecords.findForUpdate(tx, account, id), 'member')
}

async function requireOtherOwner(tx: Db, account: number, member: MemberRow): Promise<void> {
  if (await isLastOwner(tx, account, member)) throw lastOwner()
}

/** Returns whether a member is the account's only owner. */
export async function isLastOwner(
  db: Db,
  account: number,
  { id, role }: Pick<MemberRow, 'id' | 'role'>,
): Promise<boolean> {
  if (role !== 'owner') return false
  return (await db.execute(selectOwners(account).where('id', '<>', id).limit(1))).length === 0
}

async function change(
  tx: Db,
  actor: Actor,
  before: MemberRow,
  { name, email, role, access_ends_at }: MemberValues,
  unversioned: { readonly has_oidc_role?: 1 } = {},
): Promise<Versioned<MemberRow>> {
  const folded = {
    name_folded: name === undefined ? undefined : foldCase(name),
    email_folded: email === undefined ? undefined : foldCase(email),
  }
  const values = { name, email, role, access_ends_at, ...folded }
  const changed = await memberRecords.change(tx, actor.account, before.id, values, { unversioned })
  const after = found(changed, 'member')
  if (access_ends_at !== undefined) await scheduleDeparture(tx, actor.account, after.record)
  await recordEvents(tx, actor, [updatedEvent(describedMember, before, after.record)])
  const [could, can] = [before, after.record].map((each) =>
    allows({ scopes: scopesOfRole(each.role) }, 'members:write'),
  )
  // They know the links, and could join as someone else with their former role.
  if (could && !can) await deleteMemberInvitations(tx, actor, before.id)
  return after
}
