/** Admission with OpenID Connect. The issuer and the subject identify a person, never the email address. */

import { createActor } from '../../access/actor.ts'
import { type Role, roles, scopesOfRole } from '../../access/roles.ts'
import { findAccount, listAccounts } from '../../accounts/store.ts'
import { foldCase, parseBoundedText, trimText } from '../../lib/text.ts'
import { setOidcMember } from '../../members/changes.ts'
import { findInvitationByToken, joinAccount } from '../../members/invitations.ts'
import {
  ensurePerson,
  findPerson,
  insertMember,
  lockAccount,
  type OidcIdentity,
  selectMemberships,
} from '../../members/store.ts'
import type { MemberId } from '../../sessions/store.ts'
import type { Db } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import { Refusal } from '../../violations.ts'
import type { Claims } from './client.ts'
import type { OidcConfig } from './config.ts'
import type { Problem } from './problems.ts'

/** Someone whom the provider has authenticated. */
export interface Arrival {
  readonly config: Pick<OidcConfig, 'roleClaim' | 'roles' | 'account'>
  readonly claims: Claims
  /** The token of the invitation to join with; undefined to sign in. */
  readonly invitation?: string | undefined
  readonly requestId: string | null
  /** Called if the last owner keeps a role that the provider takes away. */
  readonly onLastOwner: (member: MemberId) => void
}

/** A membership of the person. `has_oidc_role` is 1 if `OIDC_ROLES` has set the role. */
interface Membership extends MemberId {
  readonly has_oidc_role: number
}

/** Returns the member to sign in, after joining if necessary; otherwise the problem. Runs in a transaction. */
export async function admit(tx: Db, arrival: Arrival): Promise<MemberId | Problem> {
  const { claims, config, invitation } = arrival
  const role = mappedRole(config, claims)
  const account = role === undefined ? undefined : await roleAccount(tx, config)
  if (invitation !== undefined) return join(tx, arrival, invitation, { role, account })
  // Concurrent first sign-ins of one person wait here, and then find the member.
  if (account !== undefined) await lockAccount(tx, account)
  const person = await findPerson(tx, toIdentity(claims))
  const members = person === undefined ? [] : await tx.execute(selectMemberships(person))
  if (role === undefined) {
    const problem = problemWithoutRole(arrival, members)
    if (problem !== undefined) return problem
  } else {
    if (account === undefined) return 'no_account'
    if (!members.some((each) => each.account === account)) return joinByRole(tx, arrival, account, role)
  }
  await updateMembers(tx, arrival, members, { role, account })
  const [lastUsed] = members
  return lastUsed as MemberId
}

/** Returns why a person without a mapped role can't sign in. Members whose role the provider has not set keep theirs. */
function problemWithoutRole({ claims, config }: Arrival, members: readonly Membership[]): Problem | undefined {
  const hasLost = members.some(({ has_oidc_role }) => has_oidc_role === 1)
  if (members.length > 0 && !hasLost) return undefined
  if (isOmitted(config, claims)) return 'groups_omitted'
  return hasLost ? 'role_lost' : 'no_access'
}

/** Connects a person with an identity at the provider. Returns the problem if that isn't possible. Runs in a transaction. */
export async function connect(tx: Db, person: number, arrival: Arrival): Promise<Problem | undefined> {
  const { issuer, subject } = toIdentity(arrival.claims)
  const known = await findPerson(tx, { issuer, subject })
  if (known !== undefined) return known === person ? undefined : 'connected_elsewhere'
  const changed = query.updateTable('people').set({ oidc_issuer: issuer, oidc_subject: subject })
  // An identity at a former provider is replaced.
  const free = changed
    .where('id', '=', person)
    .where((e) => e.or([e('oidc_issuer', 'is', null), e('oidc_issuer', '<>', issuer)]))
  if ((await tx.execute(free.returning('id'))).length === 0) return 'already_connected'
  await updateMembers(tx, arrival, await tx.execute(selectMemberships(person)), {})
  return undefined
}

/** Returns whether a person has an identity at the issuer. */
export async function isConnected(db: Db, person: number, issuer: string): Promise<boolean> {
  const own = query.selectFrom('people').select('id').where('id', '=', person).where('oidc_issuer', '=', issuer)
  return (await db.execute(own)).length > 0
}

/** Returns the highest role that the claim's values have; undefined if they have none. */
function mappedRole({ roleClaim, roles: mapped }: Arrival['config'], claims: Claims): Role | undefined {
  const claim = claims[roleClaim]
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  const given = new Set(values.map((value) => (typeof value === 'string' ? mapped.get(value) : undefined)))
  return roles.findLast((role) => given.has(role))
}

/** Returns whether Entra left the claim out, because the person is in too many groups. */
function isOmitted({ roleClaim }: Arrival['config'], { _claim_names: names }: Claims): boolean {
  return typeof names === 'object' && names !== null && Object.hasOwn(names, roleClaim)
}

/** What the provider gives a person: a role in the account of `OIDC_ACCOUNT`. */
interface Grant {
  readonly role?: Role | undefined
  readonly account?: number | undefined
}

/** Returns the account that people with a role join; undefined if there is none, or several. */
async function roleAccount(tx: Db, { account }: Arrival['config']): Promise<number | undefined> {
  if (account !== null) return (await findAccount(tx, account))?.id
  const [first, ...others] = await listAccounts(tx)
  return others.length === 0 ? first?.id : undefined
}

async function join(tx: Db, arrival: Arrival, token: string, grant: Grant): Promise<MemberId | Problem> {
  const { claims, requestId } = arrival
  const open = await findInvitationByToken(tx, token)
  if (open === undefined) return 'invitation_over'
  const verifiedEmail = findVerifiedEmail(claims)
  if (open.email !== null) {
    if (verifiedEmail === undefined) return 'email_unverified'
    if (foldCase(open.email) !== foldCase(verifiedEmail)) return 'email_differs'
  }
  const person = await ensurePerson(tx, toIdentity(claims))
  const member = await joinAccount(tx, { token, person, name: chooseName(claims, open.name), verifiedEmail }, requestId)
  await updateMembers(tx, arrival, [member], grant)
  return member
}

/** Adds a new member, whom a value of the claim gives the role. */
async function joinByRole(tx: Db, { claims, requestId }: Arrival, account: number, role: Role): Promise<MemberId> {
  const person = await ensurePerson(tx, toIdentity(claims))
  const added = { person, name: chooseName(claims), email: findVerifiedEmail(claims) ?? null, role, hasOidcRole: true }
  const actor = createActor(
    { account, kind: 'member', id: null, name: added.name, scopes: scopesOfRole(role) },
    requestId,
  )
  return { account, id: (await insertMember(tx, actor, added)).record.id }
}

/** Locks the members, and stores what the provider says about them. */
async function updateMembers(tx: Db, arrival: Arrival, members: readonly MemberId[], grant: Grant): Promise<void> {
  const email = findVerifiedEmail(arrival.claims)
  // Concurrent sign-ins lock accounts in the same order.
  for (const member of members.toSorted((a, b) => a.account - b.account)) {
    const role = member.account === grant.account ? grant.role : undefined
    const { record } = await setOidcMember(tx, member, { email, role }, arrival.requestId)
    if (role !== undefined && record.role !== role) arrival.onLastOwner(member)
  }
}

function toIdentity({ iss, sub }: Claims): OidcIdentity {
  return { issuer: iss, subject: sub }
}

/** Returns the email address if the provider has verified it. */
function findVerifiedEmail({ email, email_verified }: Claims): string | undefined {
  return email_verified === true ? cleanText(email) : undefined
}

/** Returns a name for the person: the full name, the invited name, the user name or the email address. */
function chooseName({ name, preferred_username, email }: Claims, invited: string | null = null): string {
  return cleanText(name) ?? invited ?? cleanText(preferred_username) ?? cleanText(email) ?? 'Member'
}

/** Returns a text without control characters; undefined if it is empty or longer than 255 code points. */
function cleanText(claim: unknown): string | undefined {
  if (typeof claim !== 'string') return undefined
  const text = parseBoundedText(trimText(claim.toWellFormed().replaceAll(/\p{Cc}+/gu, ' ')), 255)
  return text instanceof Refusal || text === '' ? undefined : text
}
