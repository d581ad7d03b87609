/** Days and hours of clicks. A day is the number of days since 1970-01-01. Pure. */

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Returns the day of a time in Unix milliseconds, and its hour, in the account's time zone, which is UTC. */
export function dayAndHourOf(ms: number): { readonly day: number; readonly hour: number } {
  const day = Math.floor(ms / dayMs)
  return { day, hour: Math.floor((ms - day * dayMs) / hourMs) }
}

/** Returns the day of a time in Unix milliseconds. */
export function dayOf(ms: number): number {
  return dayAndHourOf(ms).day
}

/** Returns the current day. */
export function today(): number {
  return dayOf(Date.now())
}

/** Returns the start of an hour of a day, as RFC 3339. */
export function startOf(day: number, hour = 0): string {
  return new Date(day * dayMs + hour * hourMs).toISOString()
}

/** Returns the start of the hour of a time in Unix milliseconds. */
export function startOfHour(ms: number): number {
  return ms - (ms % hourMs)
}

/** Returns the day as `YYYY-MM-DD`. */
export function dayText(day: number): string {
  return startOf(day).slice(0, 10)
}

/** Returns the day of a text such as `2026-11-22`; undefined for an invalid date or one before 1970. */
export function dayFrom(text: string): number | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) / dayMs : Number.NaN
  return day >= 0 && dayText(day) === text ? day : undefined
}

/** Returns the month of a day: the number of months since the year 0. */
export function monthOf(day: number): number {
  const date = new Date(day * dayMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** Returns the first day of a month. */
export function firstDayOf(month: number): number {
  return dayOf(Date.UTC(Math.floor(month / 12), month % 12))
}
