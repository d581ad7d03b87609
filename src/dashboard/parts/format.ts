import { type Html, html } from '../../http/html.ts'

const plain = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const whole = new Intl.NumberFormat('en', { style: 'percent' })
const fine = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** "1,234,567" */
export function formatCount(value: number): string {
  return plain.format(value)
}

/** "1.2M", for where there is little room. */
export function formatShortCount(value: number): string {
  return short.format(value)
}

/** "42%"; below ten per cent "4.2%". The share is of one. */
export function formatPercent(share: number): string {
  return (Math.abs(share) < 0.1 ? fine : whole).format(share)
}

/** "1 link", "214 links". */
export function quantity(value: number, one: string): string {
  return `${formatCount(value)} ${one}${value === 1 ? '' : 's'}`
}

const exactFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

/** Seconds from now beyond which a date says more than the distance. */
const near = 7 * 86_400

/** Each unit in seconds, from the largest. */
const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** "3 hours ago", "in 2 days", or a date where that is more than a week away; with the exact time behind it. Times in milliseconds, or as RFC 3339. */
export function timeAgo(at: number | string, now: number): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}" title="${exactTime(at)}">${relativeTime(date, now)}</time>`
}

/** "22 Nov 2026, 17:17 UTC". Times in milliseconds, or as RFC 3339. */
export function exactTime(at: number | string): string {
  return `${exactFormat.format(new Date(at))} UTC`
}

/** The exact time as an element, which a script shows in the time zone of the browser. As RFC 3339. */
export function exactTimeElement(at: string): Html {
  return html`<time datetime="${at}" data-local>${exactTime(at)}</time>`
}

/** "22 Nov 2026", in UTC. */
export function formatDay(at: number | string): string {
  return dayFormat.format(new Date(at))
}

/** "24 Oct – 22 Nov 2026", of two days such as `2026-11-22`. */
export function formatDayRange(from: string, to: string): string {
  return dayFormat.formatRange(new Date(from), new Date(to))
}

function relativeTime(date: Date, now: number): string {
  const seconds = (date.getTime() - now) / 1000
  if (Math.abs(seconds) >= near) return dayFormat.format(date)
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return relativeFormat.format(Math.trunc(seconds / length), unit)
  }
  return seconds > 0 ? 'in a moment' : 'just now'
}
