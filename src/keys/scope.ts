import { type ResourceName, resourceNames } from '../resources.ts'

/** A scope that an operation requires. Statistics are read-only. */
export type NeededScope = `${ResourceName}:${'read' | 'write'}` | 'stats:read'

/** A permission of a key. `*` includes all present and future scopes. */
export type Scope = NeededScope | '*'

/** The API key and the account that sent a request. */
export interface Caller {
  readonly key: number
  readonly account: number
  readonly scopes: readonly Scope[]
}

export const scopes: readonly Scope[] = [
  ...resourceNames.flatMap((name) => [`${name}:read`, `${name}:write`] as const),
  'stats:read',
  '*',
]

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text)
}

export function allows(granted: readonly Scope[], needed: NeededScope): boolean {
  return granted.includes('*') || granted.includes(needed)
}
