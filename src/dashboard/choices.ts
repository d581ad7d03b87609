/** The domains, spaces and tags that controls offer. */
import { type PlainDomain, plainDomainRecords } from '../domains/store.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Space } from '../spaces/schema.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'
import type { Records } from '../storage/records.ts'
import { tagRecords } from '../tags/store.ts'
import type { Choice } from './parts/fields.ts'

export interface Choices {
  readonly domains: readonly PlainDomain[]
  readonly spaces: readonly Space[]
}

/** The id for "no space" in forms. */
export const noSpace = '0'

/** The maximum number of domains and spaces in a select. */
export const maxChoices = 250

const firstChoices = { search: [], searchIn: [], filter: {}, offset: 0, limit: maxChoices, after: null } as const

/** Returns the first records by name, and the `chosen` ones. Without its selected option, a select would submit another. */
export async function loadChoices(
  storage: Storage,
  account: number,
  chosen: { readonly domains?: readonly unknown[]; readonly spaces?: readonly unknown[] },
): Promise<Choices> {
  const [domains, spaces] = await Promise.all([
    toChoices(plainDomainRecords, storage, account, chosen.domains),
    toChoices(spaceRecords, storage, account, chosen.spaces),
  ])
  return { domains, spaces }
}

async function toChoices<Row extends Space | PlainDomain>(
  records: Records<Row>,
  storage: Storage,
  account: number,
  chosen: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const { rows } = await records.list(storage, account, { ...firstChoices, sortBy: 'name', direction: 'asc' })
  const ids = new Set(chosen.flatMap((id) => positiveInteger(String(id)) ?? []))
  const unlisted = ids.difference(new Set(rows.map(({ id }) => id)))
  const others = await Promise.all([...unlisted].map((id) => records.find(storage, account, id)))
  return [...rows, ...others.flatMap((found) => found?.record ?? [])]
}

/** Returns the sorted names of the newest tags. */
export async function loadTagNames(storage: Storage, account: number): Promise<readonly string[]> {
  const { rows } = await tagRecords.list(storage, account, { ...firstChoices, sortBy: 'id', direction: 'desc' })
  return rows.map(({ name }) => name).sort((one, other) => one.localeCompare(other, 'en'))
}

export function spaceChoice({ id, name }: Space): Choice {
  return { value: String(id), label: name }
}

export function domainChoice({ id, name_unicode }: PlainDomain): Choice {
  return { value: String(id), label: name_unicode }
}

/** Returns the names in a text with commas between them. */
export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
