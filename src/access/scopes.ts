/** Scopes: the permissions of API keys and of roles. */

/** The scopes that an API key can have. Statistics and events are read-only. */
export const keyScopes = [
  'domains:read',
  'domains:write',
  'spaces:read',
  'spaces:write',
  'tags:read',
  'tags:write',
  'links:read',
  'links:write',
  'stats:read',
  'events:read',
  'members:read',
  'members:write',
  'imports:read',
  'imports:write',
] as const

/** The scopes that only people and operators have. */
const ownScopes = ['keys:read', 'keys:write', 'account:write'] as const

/** A scope that an operation or a page requires. */
export type NeededScope = (typeof keyScopes)[number] | (typeof ownScopes)[number]

/** A permission of an API key. `*` includes all present and future ones. */
export type KeyScope = (typeof keyScopes)[number] | '*'

/** A permission of an actor. */
export type Scope = NeededScope | '*'

/** The permissions of API keys, in the order of lists. */
export const scopes: readonly KeyScope[] = [...keyScopes, '*']

/** Every permission. */
export const allScopes: readonly Scope[] = ['*', ...ownScopes]

export function isScope(text: string): text is KeyScope {
  return (scopes as readonly string[]).includes(text)
}
