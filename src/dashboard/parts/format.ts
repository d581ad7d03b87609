/** Numbers and times as text. Times are Unix milliseconds or RFC 3339. */
import { type Html, html, type Part } from '../../http/html.ts'
import { exactTime } from '../../lib/format.ts'

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const whole = new Intl.NumberFormat('en', { style: 'percent' })
const fine = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** "1.2M", for small spaces. */
export function formatShortCount(value: number): string {
  return short.format(value)
}

/** "42%", or "4.2%" below 10%. A share of 1 is 100%. */
export function formatPercent(share: number): string {
  return (Math.abs(share) < 0.1 ? fine : whole).format(share)
}

/** Renders parts with commas between them, or with another word before the last. */
export function listed(parts: readonly Part[], beforeLast = ', '): Html {
  const separator = (at: number) => (at === 0 ? '' : at === parts.length - 1 ? beforeLast : ', ')
  return html`${parts.map((part, at) => html`${separator(at)}${part}`)}`
}

const dayFormat = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' })
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

/** Renders "3 hours ago", "in 2 days", or a date if it is more than a week away, with the exact time as its title. */
export function timeAgo(at: number | string, now: number): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}" title="${exactTime(at)}">${relativeTime(date, now)}</time>`
}

/** Renders an RFC 3339 time in a zone. */
export function exactTimeElement(at: string, zone: string): Html {
  return html`<time datetime="${at}">${exactTime(at, zone)}</time>`
}

/** Renders the day of an RFC 3339 time in a zone, with the exact time as its title. */
export function dayElement(at: string, zone: string): Html {
  const exact = exactTime(at, zone)
  return html`<time datetime="${at}" title="${exact}">${exact.replace(/, \d\d:.*$/, '')}</time>`
}

/** "Nov 22, 2026", in UTC. */
export function formatDay(at: number | string): string {
  return dayFormat.format(new Date(at))
}

/** "Oct 24 – Nov 22, 2026", for two days such as `2026-11-22`. */
export function formatDayRange(from: string, to: string): string {
  return dayFormat.formatRange(new Date(from), new Date(to))
}

function relativeTime(date: Date, now: number): string {
  const seconds = (date.getTime() - now) / 1000
  const distance = Math.abs(seconds)
  if (distance >= 7 * 86_400) return dayFormat.format(date)
  if (distance >= 86_400) return relativeFormat.format(Math.trunc(seconds / 86_400), 'day')
  if (distance >= 3_600) return relativeFormat.format(Math.trunc(seconds / 3_600), 'hour')
  if (distance >= 60) return relativeFormat.format(Math.trunc(seconds / 60), 'minute')
  return seconds > 0 ? 'in a moment' : 'just now'
}
