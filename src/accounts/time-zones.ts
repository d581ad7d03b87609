/** An account's current and previous time zones. */
import { parseTimeZone } from '../lib/time-zone.ts'

/** Names of IANA zones, and since when each applies in Unix milliseconds: the oldest first, since 0. */
export type TimeZones = readonly (readonly [name: string, sinceMs: number])[]

/** The oldest zones of an account are dropped. */
const maxZones = 50

/** Returns the zones of an account that has never changed its zone. */
export function initialTimeZones(name = 'UTC'): TimeZones {
  return [[name, 0]]
}

/** Returns the zones of the column `time_zones`. */
export function parseTimeZones(json: string): TimeZones {
  return JSON.parse(json)
}

/** How far the clock of another server may be ahead. */
const maxAheadMs = 86_400_000

/** Returns the zones of an export; undefined if they are invalid or apply in the future. */
export function readTimeZones(value: unknown): TimeZones | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxZones) return undefined
  const latest = Date.now() + maxAheadMs
  const isValid = value.every((each: unknown, at) => {
    if (!Array.isArray(each) || each.length !== 2) return false
    const [name, sinceMs] = each
    const isLater = at === 0 ? sinceMs === 0 : Number.isSafeInteger(sinceMs) && sinceMs > value[at - 1][1]
    if (sinceMs > latest) return false
    return isLater && typeof name === 'string' && parseTimeZone(name) === name
  })
  return isValid ? value : undefined
}

/** Returns the name of the current zone. */
export function currentTimeZone(zones: TimeZones): string {
  return zones.at(-1)?.[0] ?? 'UTC'
}

/** Returns the zones after a change at `now`, in Unix milliseconds. */
export function withTimeZone(zones: TimeZones, name: string, now: number): TimeZones {
  if (name === currentTimeZone(zones)) return zones
  // The clock of another server may be ahead.
  const sinceMs = Math.max(now, (zones.at(-1)?.[1] ?? 0) + 1)
  const [[oldest], ...others] = [...zones, [name, sinceMs] as const].slice(-maxZones) as [TimeZones[0], ...TimeZones]
  return [[oldest, 0], ...others]
}
