/** Invitations: links with which one person joins an account in a role. */
import { type Actor, createActor } from '../access/actor.ts'
import { type Role, scopesOfRole } from '../access/roles.ts'
import { found, invitationOver, notFound, validationFailed } from '../errors.ts'
import { createdEvent, deletedEvent, type EventDescription, type NewEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { MemberId } from '../sessions/store.ts'
import { generateToken, hashToken, isWellFormedToken } from '../sessions/token.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { type Precondition, Records, type Versioned } from '../storage/records.ts'
import { query, type Row } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
import { insertMember, lockAccount, requireWriter } from './store.ts'

/** An invitation in the database. `inviter` is the name of the member who created it. */
export type InvitationRow = Readonly<
  Pick<
    Row<'invitations'>,
    'id' | 'name' | 'email' | 'member_id' | 'access_ends_at' | 'expires_at' | 'created_at' | 'updated_at'
  > & {
    role: Role
    inviter: string | null
  }
>

const records = new Records<InvitationRow>(
  'invitations',
  ['id', 'name', 'email', 'role', 'member_id', 'inviter', 'access_ends_at', 'expires_at', 'created_at', 'updated_at'],
  { inviter: '(select members.name from members where members.id = member_id)' },
)

const described: EventDescription<InvitationRow> = {
  record: 'invitation',
  nameOf: ({ name, email, role }) => name ?? email ?? role,
  valuesOf: ({ name, email, role, access_ends_at, expires_at }) => ({ name, email, role, access_ends_at, expires_at }),
  secrets: [],
}

/** Lifetime of invitations. Milliseconds. */
export const invitationLifetimeMs = 7 * 24 * 60 * 60 * 1_000
/** Maximum number of open invitations per account. */
export const maxInvitations = 100

export interface NewInvitation {
  readonly role: Role
  readonly name: string | null
  readonly email: string | null
  /** When the access of the new member ends; null if it has no end. */
  readonly access_ends_at?: string | null
}

/** A new invitation, and the secret of its link, which is not stored. */
export interface IssuedInvitation {
  readonly invitation: Versioned<InvitationRow>
  readonly secret: string
}

/** Creates an invitation to the actor's account, and deletes its expired ones. Throws `validation_failed` if it has too many. */
export function createInvitation(
  db: Db,
  actor: Actor,
  { role, name, email, access_ends_at = null }: NewInvitation,
  now = Date.now(),
): Promise<IssuedInvitation> {
  const { account } = actor
  const secret = generateToken('invitation')
  const expiresMs = Math.min(
    now + invitationLifetimeMs,
    access_ends_at === null ? Number.POSITIVE_INFINITY : Date.parse(access_ends_at),
  )
  const values = { role, name, email, access_ends_at, expires_at: formatTime(expiresMs) }
  const times = { created_at: formatTime(now), updated_at: formatTime(now) }
  return db.write(async (tx) => {
    await lockAccount(tx, account)
    // An invitation ends with the member who created it, or their key.
    const member_id = await requireWriter(tx, actor)
    await tx.execute(
      query.deleteFrom('invitations').where('account_id', '=', account).where('expires_at', '<=', formatTime(now)),
    )
    const open = query.selectFrom('invitations').select('id').where('account_id', '=', account)
    if ((await tx.execute(open.limit(maxInvitations))).length === maxInvitations) {
      throw validationFailed([new Refusal('too_many.invitations', { most: maxInvitations }).at('id')])
    }
    const stored = { account_id: account, member_id, hash: hashToken(secret), ...values, ...times }
    const invitation = (await records.insert(tx, stored)) as Versioned<InvitationRow>
    await recordEvents(tx, actor, [createdEvent(described, invitation.record)])
    return { invitation, secret }
  })
}

/** Lists one page with the account's open invitations. */
export function listInvitations(
  storage: Storage,
  account: number,
  page: InvitationPage,
  now = Date.now(),
): Promise<Page<InvitationRow>> {
  const open = { expires_at: { from: formatTime(now + 1) } }
  return records.list(storage, account, { ...page, search: [], searchIn: [], filter: {}, ranges: open })
}

type InvitationPage = Pick<PageRequest, 'sortBy' | 'direction' | 'limit' | 'offset' | 'after'>

/** Lists all open invitations of the account, newest first. */
export async function listAllInvitations(storage: Storage, account: number): Promise<readonly InvitationRow[]> {
  const page = { sortBy: 'id', direction: 'desc', limit: maxInvitations, offset: 0, after: null } as const
  return (await listInvitations(storage, account, page)).rows
}

/** Finds the account's open invitation with this id. */
export async function findInvitation(
  db: Db,
  account: number,
  id: number,
  now = Date.now(),
): Promise<Versioned<InvitationRow> | undefined> {
  const invitation = await records.find(db, account, id)
  return invitation !== undefined && invitation.record.expires_at > formatTime(now) ? invitation : undefined
}

/** Deletes an open invitation to the actor's account. Throws `not_found` and what `precondition` throws. */
export function deleteInvitation(
  db: Db,
  actor: Actor,
  id: number,
  precondition: Precondition | null = null,
): Promise<void> {
  return db.write(async (tx) => {
    const locked = await records.findForUpdate(tx, actor.account, id)
    if (locked === undefined || locked.record.expires_at <= formatTime(Date.now())) throw notFound('invitation')
    precondition?.check(locked.version)
    await remove(tx, actor, [locked.record])
  })
}

/** Deletes the invitations that a member created, in a transaction. */
export async function deleteMemberInvitations(tx: Db, actor: Actor, member: number): Promise<void> {
  const own = query.selectFrom('invitations').select('id').where('account_id', '=', actor.account)
  const ids = (await tx.execute(own.where('member_id', '=', member).orderBy('id').forUpdate())).map(({ id }) => id)
  const invitations = (await records.findAll(tx, actor.account, ids)).values()
  await remove(tx, actor, invitations.map(({ record }) => record).toArray())
}

async function remove(tx: Db, actor: Actor, invitations: readonly InvitationRow[]): Promise<void> {
  const ids = invitations.map(({ id }) => id)
  if (ids.length === 0) return
  await tx.execute(query.deleteFrom('invitations').where('account_id', '=', actor.account).where('id', 'in', ids))
  await recordEvents(tx, actor, invitations.map(deletion))
}

function deletion(invitation: InvitationRow): NewEvent {
  return { ...deletedEvent(described, invitation, {}), kept: undefined }
}

/** An open invitation, as its secret shows it. */
export interface OpenInvitation extends NewInvitation {
  readonly id: number
  readonly account: { readonly id: number; readonly name: string }
  /** The name of the member who created it. */
  readonly inviter: string | null
}

/** Finds the open invitation with this secret, in any account. `now` is in Unix milliseconds. */
export async function findInvitationByToken(
  db: Db,
  token: string,
  now = Date.now(),
): Promise<OpenInvitation | undefined> {
  if (!isWellFormedToken('invitation', token)) return undefined
  const own = query
    .selectFrom('invitations')
    .innerJoin('accounts', 'accounts.id', 'invitations.account_id')
    .leftJoin('members', 'members.id', 'invitations.member_id')
    .select(['invitations.id', 'invitations.role', 'invitations.name', 'invitations.email', 'members.name as inviter'])
    .select(['accounts.id as account_id', 'accounts.name as account_name'])
    .where('invitations.hash', '=', hashToken(token))
    .where('invitations.expires_at', '>', formatTime(now))
  const [row] = await db.execute(own)
  if (row === undefined) return undefined
  const { account_id, account_name, role, ...invitation } = row
  return { ...invitation, role: role as Role, account: { id: account_id, name: account_name } }
}

/** Someone who joins with an invitation. */
export interface Joining {
  /** The secret of the invitation. */
  readonly token: string
  /** The person's id. */
  readonly person: number
  readonly name: string
  /** The email address that OpenID Connect has verified. By default, the member has the invitation's email address. */
  readonly verifiedEmail?: string | undefined
  readonly now?: number
}

/**
 * Uses up an invitation in the caller's transaction, and returns the new member. Throws `not_found` for an invitation that
 * isn't open or a person who was removed meanwhile, and `already_member`.
 */
export async function joinAccount(tx: Db, joining: Joining, requestId: string | null): Promise<MemberId> {
  const { token, name, verifiedEmail, now = Date.now() } = joining
  const invitation = await takeInvitation(tx, token, now)
  const { account, record } = invitation
  const { email, role, access_ends_at: accessEndsAt } = record
  const newMember = { name, email: verifiedEmail ?? email, role, hasOidcRole: false, accessEndsAt }
  const joined = createActor({ account, kind: 'member', id: null, name, scopes: scopesOfRole(role) }, requestId)
  await lockPerson(tx, joining.person)
  const member = await insertMember(tx, joined, { person: joining.person, ...newMember })
  const { id } = member.record
  await recordEvents(tx, { ...joined, id }, [deletion(record)])
  return { account, id }
}

/** Deletes an open invitation, so that no one else can use it. */
async function takeInvitation(tx: Db, token: string, now: number) {
  const open = await findInvitationByToken(tx, token, now)
  if (open === undefined) throw invitationOver
  const account = open.account.id
  const locked = await records.findForUpdate(tx, account, open.id)
  if (locked === undefined) throw invitationOver
  await tx.execute(query.deleteFrom('invitations').where('id', '=', open.id).where('account_id', '=', account))
  return { account, record: locked.record }
}

/** Locks a person. Throws `not_found` if they were removed from their last account meanwhile. */
async function lockPerson(tx: Db, person: number): Promise<void> {
  const [stored] = await tx.execute(query.selectFrom('people').select('id').where('id', '=', person).forUpdate())
  found(stored, 'person')
}

function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
