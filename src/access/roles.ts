/** Roles of members, and the check of scopes, whose failure names a role. No other file knows what a role may do. */
import { Failure } from '../errors.ts'
import { allows, type Identity, isScope, type KeyScope, keyScopes, type NeededScope } from './actor.ts'

/** The scopes of each role, from the least to the most. A role has the scopes of the roles before it, too. */
const addedScopes = {
  viewer: [
    'domains:read',
    'spaces:read',
    'tags:read',
    'links:read',
    'stats:read',
    'events:read',
    'members:read',
    'imports:read',
  ],
  editor: ['spaces:write', 'tags:write', 'links:write', 'imports:write'],
  admin: ['domains:write', 'keys:read', 'keys:write'],
  owner: ['members:write', 'account:write'],
} as const satisfies Readonly<Record<string, readonly NeededScope[]>>

/** A fixed set of scopes that a member has. */
export type Role = keyof typeof addedScopes

export const roles = Object.keys(addedScopes) as readonly Role[]

/** What members with a role do: one line for people who choose it. */
export const roleDescriptions: Readonly<Record<Role, string>> = {
  viewer: 'Sees links, statistics, the history and the other members.',
  editor: 'Creates, changes and deletes links, tags and spaces, and sees everything that a viewer sees.',
  admin: 'Manages domains and API keys, and does everything that an editor does.',
  owner: 'Manages people and the account, and does everything that an admin does.',
}

/** Returns the scopes of a role. */
export function scopesOfRole(role: Role): readonly NeededScope[] {
  return roles.slice(0, roles.indexOf(role) + 1).flatMap((each) => addedScopes[each])
}

/** Returns the lowest role that has a scope. */
export function lowestRoleWith(scope: NeededScope): Role {
  return roles.find((role) => scopesOfRole(role).includes(scope)) ?? 'owner'
}

/** Returns the scopes that a key keeps if the member who created it has this role now. */
export function scopesWithin(role: Role, scopes: readonly KeyScope[]): readonly KeyScope[] {
  if (hasAllScopes(role)) return scopes
  const own = scopesOfRole(role)
  return keyScopes.filter((scope) => own.includes(scope) && (scopes.includes('*') || scopes.includes(scope)))
}

/** The roles whose members can create keys with every scope. */
export const rolesWithAllScopes: readonly Role[] = roles.filter(hasAllScopes)

function hasAllScopes(role: Role): boolean {
  const own = scopesOfRole(role)
  return keyScopes.every((scope) => own.includes(scope))
}

/** Throws `insufficient_scope` unless the actor has all these scopes. The message names a role that has them. */
export function requireScopes(actor: Pick<Identity, 'scopes' | 'kind'>, wanted: readonly KeyScope[]): void {
  const needed = wanted.flatMap((scope) => (scope === '*' ? keyScopes : [scope]))
  const rank = (scope: NeededScope) => roles.indexOf(lowestRoleWith(scope))
  for (const scope of needed.toSorted((a, b) => rank(b) - rank(a))) requireScope(actor, scope)
}

/** Throws `insufficient_scope` unless the actor may do something. */
export function requireScope(actor: Pick<Identity, 'scopes' | 'kind'>, scope: NeededScope): void {
  if (allows(actor, scope)) return
  const role = lowestRoleWith(scope)
  const message =
    actor.kind === 'member'
      ? `Your role doesn’t allow this. It needs the role ${role}.`
      : `The API key lacks the scope ${scope}.${isScope(scope) ? '' : ` Only people with the role ${role} can do this.`}`
  throw new Failure('insufficient_scope', message, { scope })
}
