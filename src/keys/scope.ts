import { type ResourceName, resourceNames } from '../resources.ts'

/** A scope that an operation can need. */
export type NeededScope = `${ResourceName}:${'read' | 'write'}`

/** What a key may do. `*` stands for everything, now and later. */
export type Scope = NeededScope | '*'

export const scopes: readonly Scope[] = [
  ...resourceNames.flatMap((name) => [`${name}:read`, `${name}:write`] as const),
  '*',
]

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text)
}

export function allows(granted: readonly Scope[], needed: NeededScope): boolean {
  return granted.includes('*') || granted.includes(needed)
}
