/** What a key may do. `*` stands for everything, now and later. */
export const scopes = ['domains:read', 'domains:write', 'spaces:read', 'spaces:write', '*'] as const

export type Scope = (typeof scopes)[number]

/** A scope that an operation can need. */
export type NeededScope = Exclude<Scope, '*'>

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text)
}

export function allows(granted: readonly Scope[], needed: NeededScope): boolean {
  return granted.includes('*') || granted.includes(needed)
}
