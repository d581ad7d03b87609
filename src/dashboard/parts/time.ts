import { type Html, html } from '../../http/html.ts'

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Each unit in seconds, from the largest. */
const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** "3 hours ago" or "in 2 days", with the exact time behind it. Times in milliseconds, or as RFC 3339. */
export function timeAgo(at: number | string, now: number): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}" title="${exactTime(at)}">${distance(date.getTime() - now)}</time>`
}

/** "22 Nov 2026, 17:17 UTC". Times in milliseconds, or as RFC 3339. */
export function exactTime(at: number | string): string {
  return `${exact.format(new Date(at))} UTC`
}

/** "22 Nov 2026", in UTC. */
export function dayOf(at: number | string): string {
  return day.format(new Date(at))
}

/** "24 Oct – 22 Nov 2026", of two days such as `2026-11-22`. */
export function daySpan(from: string, to: string): string {
  return day.formatRange(new Date(from), new Date(to))
}

function distance(milliseconds: number): string {
  const seconds = milliseconds / 1000
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit)
  }
  return seconds > 0 ? 'in a moment' : 'just now'
}
