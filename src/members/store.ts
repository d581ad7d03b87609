import { randomBytes } from 'node:crypto'
import type { Actor } from '../access/actor.ts'
import { type Role, requireScope, scopesOfRole } from '../access/roles.ts'
import { alreadyMember, Failure, found } from '../errors.ts'
import { createdEvent, type EventDescription } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { addJob, cancelJob } from '../jobs/store.ts'
import { foldCase } from '../lib/text.ts'
import type { Db } from '../storage/port.ts'
import { newTimes, Records, type Versioned } from '../storage/records.ts'
import { query, type Row } from '../storage/schema.ts'
import { Warning } from '../warnings.ts'
import type { Member } from './schema.ts'

/** A member in the database. `sign_in` has the bit 1 for OpenID Connect, and the bit 2 for a passkey. */
export type MemberRow = Readonly<
  Pick<
    Row<'members'>,
    'id' | 'name' | 'email' | 'has_oidc_role' | 'last_seen_at' | 'access_ends_at' | 'created_at' | 'updated_at'
  > & {
    role: Role
    sign_in: number
  }
>

const hasSubject = 'exists (select 1 from people where people.id = person_id and oidc_subject is not null)'
const hasPasskey = 'exists (select 1 from passkeys where passkeys.person_id = members.person_id)'

export const memberRecords = new Records<MemberRow>(
  'members',
  [
    ...(['id', 'name', 'email', 'role', 'has_oidc_role', 'sign_in', 'last_seen_at', 'access_ends_at'] as const),
    ...(['created_at', 'updated_at'] as const),
  ],
  { sign_in: `(case when ${hasSubject} then 1 else 0 end) + (case when ${hasPasskey} then 2 else 0 end)` },
)

/** Returns the warnings about a member. */
export function memberWarnings({ has_oidc_role }: Pick<MemberRow, 'has_oidc_role'>): Warning[] {
  return has_oidc_role === 1 ? [new Warning('role_from_group', 'role', {})] : []
}

/** What events record of a member. */
export const describedMember: EventDescription<MemberRow> = {
  record: 'member',
  nameOf: ({ name }) => name,
  valuesOf: ({ name, email, role, access_ends_at }) => ({ name, email, role, access_ends_at }),
  secrets: [],
}

/** A new member of an account. */
interface NewMember {
  /** The id of the person. */
  readonly person: number
  readonly name: string
  readonly email: string | null
  readonly role: Role
  /** Whether `OIDC_ROLES` sets the role. */
  readonly hasOidcRole: boolean
  readonly accessEndsAt?: string | null
}

/** A person's identity at a provider of OpenID Connect. */
export interface OidcIdentity {
  readonly issuer: string
  readonly subject: string
}

/** Stores a person, and returns their id. `handle` is the user handle of their passkeys. */
export async function insertPerson(
  tx: Db,
  oidc: OidcIdentity | null,
  handle: Uint8Array = randomBytes(32),
): Promise<number> {
  const [row] = await tx.execute(personInsertion(oidc, handle))
  return Number(row?.id)
}

function personInsertion(oidc: OidcIdentity | null, handle: Uint8Array) {
  const values = { oidc_issuer: oidc?.issuer ?? null, oidc_subject: oidc?.subject ?? null }
  const created_at = new Date().toISOString()
  return query
    .insertInto('people')
    .values({ handle, ...values, time_zone: null, created_at })
    .returning('id')
}

/** Returns the id of the person with this identity at a provider. Stores a person if there is none. */
export async function ensurePerson(tx: Db, oidc: OidcIdentity): Promise<number> {
  const person = await findPerson(tx, oidc)
  if (person !== undefined) return person
  // Another transaction may store the same person: this one then waits, and finds the row.
  const insertion = personInsertion(oidc, randomBytes(32)).onConflict((conflict) => conflict.doNothing())
  const [row] = await tx.execute(insertion)
  return row?.id ?? Number(await findPerson(tx, oidc))
}

/** Finds the id of the person with an identity at a provider. */
export async function findPerson(db: Db, { issuer, subject }: OidcIdentity): Promise<number | undefined> {
  const own = query.selectFrom('people').select('id').where('oidc_issuer', '=', issuer)
  const [person] = await db.execute(own.where('oidc_subject', '=', subject))
  return person?.id
}

/**
 * Adds a person to the actor's account, in a transaction, and stores the event, whose actor is the new member. Throws
 * `already_member`.
 */
export async function insertMember(
  tx: Db,
  actor: Pick<Actor, 'account' | 'requestId' | 'batchId'>,
  { person, name, email, role, hasOidcRole, accessEndsAt = null }: NewMember,
): Promise<Versioned<MemberRow>> {
  const { account } = actor
  const folded = { name_folded: foldCase(name), email_folded: email === null ? null : foldCase(email) }
  const columns = { account_id: account, person_id: person, has_oidc_role: hasOidcRole ? 1 : 0, ...folded }
  const values = { name, email, role, access_ends_at: accessEndsAt }
  const member = await memberRecords.insert(tx, { ...columns, ...values, ...newTimes() })
  if (member === undefined) throw alreadyMember()
  const { id } = member.record
  await scheduleDeparture(tx, account, member.record)
  const joined: Actor = { ...actor, kind: 'member', id, name, scopes: [] }
  await recordEvents(tx, joined, [{ ...createdEvent(describedMember, member.record), action: 'joined' }])
  return member
}

/** Lets a job remove a member when their access ends. */
export async function scheduleDeparture(
  tx: Db,
  account: number,
  { id: record_id, access_ends_at }: Pick<MemberRow, 'id' | 'access_ends_at'>,
): Promise<void> {
  const member = { record: 'member', record_id } as const
  await cancelJob(tx, member)
  if (access_ends_at === null) return
  await addJob(tx, { kind: 'departure', ...member, account, freeAtMs: Date.parse(access_ends_at) })
}

/** Returns the id of the account's first owner with access without an end. Creates an owner if there is none. Writes in a transaction. */
export function ensureOwner(db: Db, actor: Actor): Promise<Member['id']> {
  const { account } = actor
  return db.write(async (tx) => {
    await lockAccount(tx, account)
    const [first] = await tx.execute(selectOwners(account).orderBy('id').limit(1))
    if (first !== undefined) return first.id
    const person = await insertPerson(tx, null)
    const owner = { person, name: firstOwnerName, email: null, role: 'owner', hasOidcRole: false } as const
    return (await insertMember(tx, actor, owner)).record.id
  })
}

/** Locks an account, so that its owners and the number of its invitations change in one transaction at a time. */
export async function lockAccount(tx: Db, account: number): Promise<void> {
  await tx.execute(query.selectFrom('accounts').select('id').where('id', '=', account).forNoKeyUpdate())
}

/**
 * Throws unless the actor may still change members. They may have been removed or demoted, or their key revoked, since the
 * request began, or while the key was cached. The account must be locked. Returns the member who acts or has created the key.
 */
export async function requireWriter(tx: Db, { account, kind, id }: Actor): Promise<number | null> {
  if (kind !== 'member' && kind !== 'key') return null
  let member = id
  if (kind === 'key') {
    const own = query.selectFrom('keys').select(['member_id', 'revoked_at']).where('account_id', '=', account)
    const key = found((await tx.execute(own.where('id', '=', id)))[0], 'key')
    if (key.revoked_at !== null) throw new Failure('revoked_api_key', `The API key was revoked at ${key.revoked_at}.`)
    member = key.member_id
    if (member === null) return null
  }
  const own = query.selectFrom('members').select('role').where('account_id', '=', account).where('id', '=', member)
  const { role } = found((await tx.execute(own))[0], 'member')
  requireScope({ kind, scopes: scopesOfRole(role as Role) }, 'members:write')
  return member
}

/** Selects the ids of an account's owners with access without an end. */
export function selectOwners(account: number) {
  const members = query.selectFrom('members').select('id').where('account_id', '=', account)
  return members.where('role', '=', 'owner').where('access_ends_at', 'is', null)
}

/** Selects the memberships of a person, last used first. */
export function selectMemberships(person: number) {
  const own = query.selectFrom('members').select(['account_id as account', 'id', 'has_oidc_role'])
  const byUse = own.orderBy((e) => e.fn.coalesce('last_seen_at', 'created_at'), 'desc').orderBy('id', 'desc')
  return byUse.where('person_id', '=', person)
}

/** An account of a person. */
export interface OwnAccount {
  readonly id: number
  readonly name: string
}

/** Lists the accounts that a person is a member of, by name. */
export async function listPersonAccounts(db: Db, person: number): Promise<OwnAccount[]> {
  const own = query
    .selectFrom('members')
    .innerJoin('accounts', 'accounts.id', 'members.account_id')
    .select(['accounts.id', 'accounts.name'])
    .where('members.person_id', '=', person)
  const accounts = await db.execute(own.orderBy('accounts.id'))
  return accounts.toSorted((a, b) => a.name.localeCompare(b.name, 'en') || a.id - b.id)
}

/** Stores the time zone of a person's forms; with `isFirst`, only if it is unknown. The zone must be valid. */
export async function setTimeZone(db: Db, person: number, time_zone: string, isFirst = false): Promise<void> {
  const own = query.updateTable('people').set({ time_zone }).where('id', '=', person)
  await db.execute(isFirst ? own.where('time_zone', 'is', null) : own)
}

/** The name of the first owner until they change it. */
const firstOwnerName = 'Owner'

/** Returns a member for a response. */
export function toMember({ sign_in, ...row }: MemberRow): Member {
  const methods = [...(sign_in & 1 ? (['oidc'] as const) : []), ...(sign_in & 2 ? (['passkey'] as const) : [])]
  const { id, name, email, role, access_ends_at, last_seen_at, created_at, updated_at } = row
  return { id, name, email, role, access_ends_at, sign_in: methods, last_seen_at, created_at, updated_at }
}
