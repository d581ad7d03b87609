import { hash } from 'node:crypto'
import type { Actor } from '../access/actor.ts'
import { sendRecord } from '../api/envelopes.ts'
import { checkedChange, withShownVersion } from '../api/handlers.ts'
import { readId } from '../api/operations.ts'
import { type Api, readRoutes, storeRoute } from '../api/routes.ts'
import { Failure, validationFailed } from '../errors.ts'
import { type ListQuery, type PageQuery, toPage, toPageRequest } from '../forms/list-query.ts'
import { readCondition } from '../http/conditions.ts'
import type { Fields } from '../http/form-encoding.ts'
import { send } from '../http/response.ts'
import type { IdempotentRequests } from '../idempotency/store.ts'
import { shownVersion } from '../lib/record-version.ts'
import { textWarnings } from '../names/suspicious-values.ts'
import { resources } from '../resources.ts'
import { invitationUrl } from '../sessions/token.ts'
import type { Page, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import { Refusal, type Violation } from '../violations.ts'
import { warningsAbout } from '../warnings.ts'
import { changeMember, removeMember } from './changes.ts'
import {
  createInvitation,
  deleteInvitation,
  findInvitation,
  type InvitationRow,
  listInvitations,
} from './invitations.ts'
import {
  type Invitation,
  invitationOperations,
  type Member,
  memberOperations,
  removeMemberQuery,
  storeInvitation,
  updateMember,
} from './schema.ts'
import { type MemberRow, memberRecords, memberWarnings, toMember } from './store.ts'

/** Adds the operations on members. */
export function memberRoutes(api: Api, storage: Storage): void {
  const { put, patch, delete: remove } = memberOperations
  const find = async (account: number, id: number) => {
    const member = await memberRecords.find(storage, account, id)
    return member && shownMember(member)
  }

  readRoutes(api, 'member', memberOperations, { list: (...given) => listMembers(storage, ...given), find })

  api.add([put, patch], async (exchange, { actor, fields }) => {
    const condition = readCondition(exchange)
    const id = readId(exchange, 'member')
    const changed = await withShownVersion(
      () => find(actor.account, id),
      'member',
      () => updateMemberBy(storage, actor, id, fields, condition),
    )
    return sendRecord(exchange, shownMember(changed), null, warningsAbout(memberWarnings(changed.record), fields))
  })

  api.add(remove, async (exchange, { actor }) => {
    const precondition = readCondition(exchange)
    const id = readId(exchange, 'member')
    const own = () => find(actor.account, id)
    await withShownVersion(own, 'member', async () => {
      const { keys } = await checkedChange(removeMemberQuery.check(exchange.query), own, 'member', precondition)
      await removeMember(storage, actor, id, { keepsKeys: keys === 'keep', precondition })
    })
    return send(exchange, 204)
  })
}

/** Lists one page with the account's members for a response. */
export async function listMembers(storage: Storage, account: number, query: ListQuery): Promise<Page<Member>> {
  const page = await memberRecords.list(storage, account, toPageRequest(query, resources.members))
  return { ...page, rows: page.rows.map(toMember) }
}

/** Changes a member as a form says. Throws `not_found`, `validation_failed`, `last_owner` and what `precondition` throws. */
export function updateMemberBy(
  storage: Storage,
  actor: Actor,
  id: number,
  fields: Fields,
  precondition: Precondition | null,
): Promise<Versioned<MemberRow>> {
  const { values, violations } = updateMember.read(fields)
  const { role, access_ends_at } = values
  return changeMember(storage, actor, id, { role, access_ends_at }, ({ record, version }) => {
    precondition?.check(version)
    const all = [...violations, ...rejectChanges(record, values)]
    if (all.length > 0) throw validationFailed(all)
  })
}

/** Returns a violation for each new value, which could otherwise seem to be stored. The current ones may be sent back. */
function rejectChanges(
  record: MemberRow,
  sent: Readonly<Partial<Record<'name' | 'email', string | undefined>>>,
): Violation[] {
  return (['name', 'email'] as const).flatMap((field) => {
    const stored = record[field] ?? ''
    if (sent[field] === undefined || sent[field] === stored) return []
    return [new Refusal('prohibited.member', { current: stored === '' ? 'empty' : stored }).at(field)]
  })
}

/** Returns the member for a response, with a version that changes with the fields that no one edits. */
function shownMember({ record, version }: Versioned<MemberRow>): Versioned<Member> {
  const { sign_in, last_seen_at } = record
  return { record: toMember(record), version: withState(version, `${sign_in} ${last_seen_at}`) }
}

function withState(version: string, state: string): string {
  return shownVersion(version, hash('sha1', state, 'base64url').slice(0, 12))
}

/** Adds the operations on invitations. */
export function invitationRoutes(api: Api, storage: Storage, idempotentRequests: IdempotentRequests): void {
  const { store, delete: remove } = invitationOperations
  const find = async (account: number, id: number) => {
    const invitation = await findInvitation(storage, account, id)
    return invitation && shownInvitation(invitation)
  }

  readRoutes(api, 'invitation', invitationOperations, {
    list: (...given) => listShownInvitations(storage, ...given),
    find,
  })

  storeRoute(api, idempotentRequests, store, {
    insertion: (exchange, { actor, fields }) => {
      const values = storeInvitation.check(fields)
      if (values instanceof Failure) throw values
      return async (db) => {
        const { invitation, secret } = await createInvitation(db, actor, values)
        return { ...shownInvitation(invitation), secrets: { url: invitationUrl(api.baseOf(exchange), secret) } }
      }
    },
    warnings: (_db, _account, { name }) => textWarnings('name', name ?? ''),
  })

  api.add(remove, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const id = readId(exchange, 'invitation')
    const deleted = () => deleteInvitation(storage, actor, id, condition)
    await withShownVersion(() => find(actor.account, id), 'invitation', deleted)
    return send(exchange, 204)
  })
}

/** Lists one page with the account's open invitations for a response. */
export async function listShownInvitations(
  storage: Storage,
  account: number,
  query: PageQuery,
): Promise<Page<Invitation>> {
  const page = await listInvitations(storage, account, toPage(query))
  return { ...page, rows: page.rows.map(toInvitation) }
}

/** Returns an invitation for a response. */
export function toInvitation({ member_id, inviter, ...row }: InvitationRow): Invitation {
  const { id, name, email, role, access_ends_at, expires_at, created_at } = row
  const created_by = member_id === null || inviter === null ? null : { id: member_id, name: inviter }
  return { id, name, email, role, access_ends_at, created_by, expires_at, created_at }
}

function shownInvitation({ record, version }: Versioned<InvitationRow>): Versioned<Invitation> {
  return { record: toInvitation(record), version: withState(version, `${record.member_id} ${record.inviter}`) }
}
