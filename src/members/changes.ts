/** Changes of members: roles, names and removals. An account always has an owner. */
import { type Actor, allows, createActor } from '../access/actor.ts'
import { type Role, scopesOfRole } from '../access/roles.ts'
import { found, lastOwner } from '../errors.ts'
import { deletedEvent, updatedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { narrowMemberKeys, revokeMemberKeys } from '../keys/store.ts'
import { foldCase } from '../lib/text.ts'
import type { MemberId } from '../sessions/store.ts'
import type { Db } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import { query } from '../storage/schema.ts'
import { deleteMemberInvitations } from './invitations.ts'
import { describedMember, lockAccount, type MemberRow, memberRecords, requireWriter, selectOwners } from './store.ts'

/** Changes the role of a member of the actor's account. Throws `not_found`, `last_owner` and what `check` throws before. */
export function changeRole(
  db: Db,
  actor: Actor,
  id: number,
  role: Role | undefined,
  check: (member: Versioned<MemberRow>) => void = () => undefined,
): Promise<Versioned<MemberRow>> {
  return db.write(async (tx) => {
    const before = await lockMember(tx, actor.account, id)
    check(before)
    if (role !== undefined && role !== 'owner') await requireOtherOwner(tx, actor.account, before.record)
    await requireWriter(tx, actor)
    return change(tx, actor, before.record, { role })
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
    const removed = { ...deletedEvent(describedMember, record, {}), action: 'removed', kept: undefined } as const
    await recordEvents(tx, actor, [removed])
    await (keepsKeys ? narrowMemberKeys(tx, account, id, record.role) : revokeMemberKeys(tx, actor, id))
    await deleteMemberInvitations(tx, actor, id)
    const own = query.deleteFrom('members').where('id', '=', id).where('account_id', '=', account)
    const [row] = await tx.execute(own.returning('person_id'))
    if (row !== undefined) await removePerson(tx, row.person_id)
  })
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
  { name, email, role }: MemberValues,
  unversioned: { readonly has_oidc_role?: 1 } = {},
): Promise<Versioned<MemberRow>> {
  const folded = {
    name_folded: name === undefined ? undefined : foldCase(name),
    email_folded: email === undefined ? undefined : foldCase(email),
  }
  const values = { name, email, role, ...folded }
  const changed = await memberRecords.change(tx, actor.account, before.id, values, { unversioned })
  const after = found(changed, 'member')
  await recordEvents(tx, actor, [updatedEvent(describedMember, before, after.record)])
  const [could, can] = [before, after.record].map((each) =>
    allows({ scopes: scopesOfRole(each.role) }, 'members:write'),
  )
  // They know the links, and could join as someone else with their former role.
  if (could && !can) await deleteMemberInvitations(tx, actor, before.id)
  return after
}
