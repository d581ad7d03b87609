/** The further addresses of links in events: lists of them before and after a change. */
import type { Changes } from './event.ts'

/** An address of a link in an event. */
interface EventAddress {
  readonly id: number
  readonly domain_id?: number
}

/** Returns those of the addresses of a link whose ids the others don't have. */
export function withoutThose(addresses: unknown, others: unknown): EventAddress[] {
  const ids = new Set(((others ?? []) as readonly EventAddress[]).map(({ id }) => id))
  return ((addresses ?? []) as readonly EventAddress[]).filter(({ id }) => !ids.has(id))
}

/**
 * Returns the current addresses of a link without those that a change added, and with those that it took away. Undefined if one
 * that it added is gone by now.
 */
export function previousAddresses([before, after]: Changes[string], current: unknown): EventAddress[] | undefined {
  const added = withoutThose(after, before)
  if (withoutThose(added, current).length > 0) return undefined
  return [...withoutThose(current, added), ...withoutThose(before, after)]
}
