import { type Domain, domainOperations } from '../domains/schema.ts'
import { domainRecords } from '../domains/store.ts'
import { positiveInteger } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import { type Space, spaceOperations } from '../spaces/schema.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { type Tag, tagOperations } from '../tags/schema.ts'
import { tagRecords } from '../tags/store.ts'
import { ListState } from './lists.ts'
import type { Choice } from './parts/fields.ts'

export interface Choices {
  readonly domains: readonly Domain[]
  readonly spaces: readonly Space[]
}

/** The maximum number of domains and spaces in a select. */
export const maxChoices = 250

/** Returns the first records by name, and the `chosen` ones. Without its selected option, a select would submit another. */
export async function loadChoices(
  storage: Storage,
  account: number,
  chosen: { readonly domains?: readonly unknown[]; readonly spaces?: readonly unknown[] },
): Promise<Choices> {
  const byName = { sort_by: 'name', sort: 'asc' }
  const ofDomains = new ListState('', byName, domainOperations.list.query, resources.domains).request
  const ofSpaces = new ListState('', byName, spaceOperations.list.query, resources.spaces).request
  const [domains, spaces] = await Promise.all([
    domainRecords.list(storage, account, { ...ofDomains, limit: maxChoices }),
    spaceRecords.list(storage, account, { ...ofSpaces, limit: maxChoices }),
  ])
  return {
    domains: await withChosen(domains.rows, chosen.domains, (id) => domainRecords.find(storage, account, id)),
    spaces: await withChosen(spaces.rows, chosen.spaces, (id) => spaceRecords.find(storage, account, id)),
  }
}

/** Returns the newest tags and the `chosen` ones, by name. */
export async function loadTags(
  storage: Storage,
  account: number,
  chosen: readonly unknown[] = [],
): Promise<readonly Tag[]> {
  const { request } = new ListState('', {}, tagOperations.list.query, resources.tags)
  const { rows } = await tagRecords.list(storage, account, { ...request, limit: maxChoices })
  const tags = await withChosen(rows, chosen, (id) => tagRecords.find(storage, account, id))
  return tags.toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
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

export function spaceChoice({ id, name }: Space): Choice {
  return { value: String(id), label: name }
}

export function domainChoice({ id, name_unicode }: Domain): Choice {
  return { value: String(id), label: name_unicode }
}
