/** What a new key is asked for. */

import { Refusal } from '../errors.ts'
import { type Field, form, optional, type Rule, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { oneOf } from '../forms/rules.ts'
import { type Scope, scopes } from '../keys/scope.ts'
import { boundedNfc } from '../names/bounded-text.ts'

/** Code points. */
const maxName = 255
const dayMs = 86_400_000

/** How long a key may be good, by what the form sends; null for one that is good until it is revoked. */
export const lifetimes = { '30d': 30 * dayMs, '90d': 90 * dayMs, '365d': 365 * dayMs, never: null } as const
export type Lifetime = keyof typeof lifetimes

const name: Rule<string> = {
  schema: Type.String({ maxLength: maxName, description: 'What the key is called in lists.' }),
  parse: (text) =>
    boundedNfc(text, maxName) ?? new Refusal('too_long', `The name must be at most ${maxName} characters long.`),
}

const lifetime = oneOf(Object.keys(lifetimes) as Lifetime[], 'How long the key is good.')
const granted = oneOf(['true'], 'Whether the key has the scope.')

/** A checkbox for each scope, by its name: text fields of a form cannot be sent twice. */
const ofScopes = Object.fromEntries(scopes.map((scope) => [scope, optional(granted, null)]))

interface KeyFields {
  readonly name: string
  readonly expires: Lifetime
}

export const keyForm = form<KeyFields & Readonly<Record<string, unknown>>>(
  { name: required(name), expires: required(lifetime), ...(ofScopes as Record<string, Field<unknown>>) },
  [],
  (values) =>
    grantedIn(values).length > 0
      ? []
      : [{ field: '*', code: 'required', message: 'The key needs a scope: choose what it may do.' }],
)

/** The scopes that are checked; `*` includes all others. */
export function grantedIn(values: Readonly<Record<string, unknown>>): Scope[] {
  const checked = scopes.filter((scope) => values[scope] === 'true')
  return checked.includes('*') ? ['*'] : checked
}
