import { type Domain, listDomainsQuery } from '../domains/schema.ts'
import { listDomains } from '../domains/store.ts'
import { resources } from '../resources.ts'
import { listSpacesQuery, type Space } from '../spaces/schema.ts'
import { listSpaces } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'
import { ListState } from './list-page.ts'
import type { Choice } from './parts/fields.ts'

/** What filters and forms offer: the first domains and spaces by name. */
export interface Choices {
  readonly domains: readonly Domain[]
  readonly spaces: readonly Space[]
}

/** Domains and spaces that a filter or a form offers. */
export async function choicesOf(storage: Storage, account: number): Promise<Choices> {
  const byName = { sort_by: 'name', sort: 'asc', per_page: '100' }
  const ofDomains = new ListState('', byName, listDomainsQuery, resources.domains).request
  const ofSpaces = new ListState('', byName, listSpacesQuery, resources.spaces).request
  const [domains, spaces] = await Promise.all([
    listDomains(storage, account, ofDomains),
    listSpaces(storage, account, ofSpaces),
  ])
  return { domains: domains.rows, spaces: spaces.rows }
}

/** A space in a list to choose from. */
export function spaceChoice({ id, name }: Space): Choice {
  return { value: String(id), label: name }
}

/** A domain in a list to choose from. */
export function domainChoice({ id, name_unicode }: Domain): Choice {
  return { value: String(id), label: name_unicode }
}

/** The choices, and the value itself where it is none of them: a form that is sent back must not change it unseen. */
export function withChosen(options: readonly Choice[], value: string, what: 'Domain' | 'Space'): readonly Choice[] {
  if (value === '' || options.some((option) => option.value === value)) return options
  return [...options, { value, label: `${what} ${value}` }]
}
