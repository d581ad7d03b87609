import { type ResourceName, resourceNames } from '../resources.ts'

/** A scope that an operation requires. Statistics and events are read-only. */
export type NeededScope = `${ResourceName}:${'read' | 'write'}` | 'stats:read' | 'events:read'

/** A permission of an actor. `*` includes all present and future scopes. */
export type Scope = NeededScope | '*'

export const scopes: readonly Scope[] = [
  ...resourceNames.flatMap((name) => [`${name}:read`, `${name}:write`] as const),
  'stats:read',
  'events:read',
  '*',
]

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text)
}
