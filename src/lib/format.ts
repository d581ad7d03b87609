/** Numbers and times as text. */
import { LruCache } from './lru-cache.ts'

const plain = new Intl.NumberFormat('en')

/** "1,234,567" */
export function formatCount(value: number): string {
  return plain.format(value)
}

/** "1 link", "214 links". */
export function quantity(value: number, one: string, several = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : several}`
}

export function capitalize(text: string): string {
  return text.replace(/^./, (letter) => letter.toUpperCase())
}

/** Formats by zone. Creating one takes longer than rendering a page. */
const exactFormats = new LruCache<string, Intl.DateTimeFormat>(50)

/** "Nov 22, 2026, 17:17 UTC", for Unix milliseconds or RFC 3339. */
export function exactTime(at: number | string, zone = 'UTC'): string {
  return exactFormat(zone).format(new Date(at))
}

function exactFormat(timeZone: string): Intl.DateTimeFormat {
  const cached = exactFormats.get(timeZone)
  if (cached !== undefined) return cached
  const day = { year: 'numeric', month: 'short', day: 'numeric' } as const
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const
  const format = new Intl.DateTimeFormat('en-US', { ...day, ...time, timeZone })
  exactFormats.set(timeZone, format)
  return format
}
