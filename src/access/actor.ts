/** The author of a change, which is the first parameter of every action, and its scopes: the permissions of keys and of roles. */
import { randomBytes } from 'node:crypto'

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

/** An API key, a person who has signed in, a command of the operator, or Waymark itself. */
export const actorKinds = ['key', 'member', 'command', 'system'] as const
export type ActorKind = (typeof actorKinds)[number]

/** Someone who can act in an account. */
export interface Identity {
  readonly account: number
  readonly kind: ActorKind
  /** The key or member id; null for the other kinds. */
  readonly id: number | null
  readonly name: string
  readonly scopes: readonly Scope[]
}

/** A key that sends a request. */
export interface KeyIdentity extends Identity {
  readonly kind: 'key'
  readonly id: number
  readonly scopes: readonly KeyScope[]
}

/** Someone who acts. All changes of one request, form or command have the same batch. */
export interface Actor extends Identity {
  /** Null outside of a request. */
  readonly requestId: string | null
  readonly batchId: string
}

/** Returns an actor for one request, form or command. */
export function createActor<Who extends Identity>(identity: Who, requestId: string | null): Who & Actor {
  return { ...identity, requestId, batchId: newBatchId() }
}

/** Distinguishes processes and threads. */
const source = randomBytes(9).toString('base64url')
let batches = 0

/** Returns an id that no other batch has. */
function newBatchId(): string {
  batches += 1
  return `${source}-${batches.toString(36)}`
}

/** Returns an operator who runs a command on an account. */
export function commandActor(account: number, name: string): Actor {
  return createActor({ account, kind: 'command', id: null, name, scopes: allScopes }, null)
}

/** Returns Waymark itself, for changes that no one requested. */
export function systemActor(account: number): Actor {
  return createActor({ account, kind: 'system', id: null, name: 'Waymark', scopes: allScopes }, null)
}

/** Returns whether an actor may do something. Nothing else decides about that. */
export function allows({ scopes }: Pick<Identity, 'scopes'>, needed: NeededScope): boolean {
  return scopes.includes(needed) || (scopes.includes('*') && (keyScopes as readonly string[]).includes(needed))
}
