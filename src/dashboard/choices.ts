import { type Domain, listDomainsQuery } from '../domains/schema.ts'
import { findDomain, listDomains } from '../domains/store.ts'
import { positiveInteger } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import { listSpacesQuery, type Space } from '../spaces/schema.ts'
import { findSpace, listSpaces } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/version.ts'
import { ListState } from './list-state.ts'
import type { Choice } from './parts/fields.ts'

/** What filters and forms offer. */
export interface Choices {
  readonly domains: readonly Domain[]
  readonly spaces: readonly Space[]
}

/** The ids that are chosen already, as records, forms and addresses have them; what is no id is left out. */
export interface Chosen {
  readonly domains?: readonly unknown[]
  readonly spaces?: readonly unknown[]
}

/** Domains and spaces that a select offers. Those beyond are reached from their own pages. */
export const maxChoices = 250

/**
 * The account's first `offered` domains and spaces by name, and after them those that are chosen: a select that lacks the
 * chosen one would send another.
 */
export async function loadChoices(storage: Storage, account: number, chosen: Chosen = {}): Promise<Choices> {
  const byName = { sort_by: 'name', sort: 'asc' }
  const ofDomains = new ListState('', byName, listDomainsQuery, resources.domains).request
  const ofSpaces = new ListState('', byName, listSpacesQuery, resources.spaces).request
  const [domains, spaces] = await Promise.all([
    listDomains(storage, account, { ...ofDomains, limit: maxChoices }),
    listSpaces(storage, account, { ...ofSpaces, limit: maxChoices }),
  ])
  return {
    domains: await withChosen(domains.rows, chosen.domains, (id) => findDomain(storage, account, id)),
    spaces: await withChosen(spaces.rows, chosen.spaces, (id) => findSpace(storage, account, id)),
  }
}

async function withChosen<Row extends { readonly id: number }>(
  rows: readonly Row[],
  chosen: readonly unknown[] = [],
  find: (id: number) => Promise<Versioned<Row> | undefined>,
): Promise<readonly Row[]> {
  const listed = new Set(rows.map(({ id }) => id))
  const ids = new Set(chosen.flatMap((id) => positiveInteger(String(id)) ?? []))
  const others = await Promise.all([...ids.difference(listed)].map(find))
  return [...rows, ...others.flatMap((found) => found?.record ?? [])]
}

/** A space in a list to choose from. */
export function spaceChoice({ id, name }: Space): Choice {
  return { value: String(id), label: name }
}

/** A domain in a list to choose from. */
export function domainChoice({ id, name_unicode }: Domain): Choice {
  return { value: String(id), label: name_unicode }
}
