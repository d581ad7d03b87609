/** The author of a change, which is the first parameter of every action. */
import { randomBytes } from 'node:crypto'
import { Failure } from '../errors.ts'
import { lowestRoleWith, roles } from './roles.ts'
import { allScopes, isScope, type KeyScope, keyScopes, type NeededScope, type Scope } from './scopes.ts'

/** An API key, a person who has signed in, a command of the operator, or Waymark itself. */
export const actorKinds = ['key', 'member', 'command', 'system'] as const
export type ActorKind = (typeof actorKinds)[number]

/** Someone who can act in an account. */
export interface Identity {
  readonly account: number
  readonly kind: ActorKind
  /** The id of the key or the member; null for the other kinds. */
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
export function actorOf<Who extends Identity>(identity: Who, requestId: string | null): Who & Actor {
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
  return actorOf({ account, kind: 'command', id: null, name, scopes: allScopes }, null)
}

/** Returns Waymark itself, for changes that no one requested. */
export function systemActor(account: number): Actor {
  return actorOf({ account, kind: 'system', id: null, name: 'Waymark', scopes: allScopes }, null)
}

/** Returns whether an actor may do something. Nothing else decides about that. */
export function allows({ scopes }: Pick<Identity, 'scopes'>, needed: NeededScope): boolean {
  return scopes.includes(needed) || (scopes.includes('*') && (keyScopes as readonly string[]).includes(needed))
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
