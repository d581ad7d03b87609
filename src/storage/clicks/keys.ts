import { type DayKey, type Owners, type Scope, scopes } from './tables.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

/** The day of a time in Unix milliseconds, counted from 1970-01-01 in UTC. */
export function dayOf(ms: number): number {
  return Math.floor(ms / dayMs)
}

/** The hour of its day in UTC. */
export function hourIn(ms: number): number {
  return Math.floor((ms % dayMs) / hourMs)
}

/** The keys of a day of all to whom a link belongs. */
export function keysOfOwners(of: Owners, day: number): DayKey[] {
  const owners: [Scope, number | null][] = [
    [scopes.domain, of.domain],
    [scopes.space, day < of.formerBefore ? of.formerSpace : of.space],
    [scopes.account, of.account],
  ]
  return owners.flatMap(([scope, id]) => (id === null ? [] : [{ scope, day, id }]))
}

/** The order in which all who write days lock them. */
export function compareKeys(a: DayKey, b: DayKey): number {
  return a.scope - b.scope || a.day - b.day || a.id - b.id
}
