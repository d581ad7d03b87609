/**
 * Days and hours of clicks. A day is a date: the number of days since 1970-01-01. An hour is the start of an hour of the
 * account's time zone, in hours since 00:00 UTC of its day. In UTC these are 0 to 23. In Kathmandu, days begin with hour
 * -5.75. So an hour remains the same moment when the account's zone changes. Times are in Unix milliseconds. Pure.
 */

import { memoized } from '../lib/lru-cache.ts'
import { type OffsetSpan, TimeZone } from '../lib/time-zone.ts'
import { parseTimeZones, type TimeZones } from './time-zones.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** Returns the day of a time in UTC. */
export function toUtcDay(ms: number): number {
  return Math.floor(ms / dayMs)
}

/** Returns the current day in UTC. */
export function today(): number {
  return toUtcDay(Date.now())
}

/** How many days `clicks_30d` counts: the current day of the account's time zone and the days before. */
export const recentDays = 30

/** Returns the time of an hour of a day. */
export function timeOfHour(day: number, hour: number): number {
  return Math.round(day * dayMs + hour * hourMs)
}

/** The offset of the zones that are furthest ahead of UTC. */
const mostAheadMs = 14 * hourMs

/** Returns the latest day that has begun anywhere. */
export function latestDay(): number {
  return toUtcDay(Date.now() + mostAheadMs)
}

/** The hour that contains a click. */
export interface ClickHour {
  readonly day: number
  readonly hour: number
  /** The start of the day in the zone of the click. */
  readonly dayStartMs: number
}

/** An account's hours and days. */
export class Calendar {
  readonly #zones: readonly ZonePeriod[]

  constructor(zones: TimeZones) {
    this.#zones = zones.map(([name, sinceMs], at) => ({
      name,
      sinceMs,
      untilMs: zones[at + 1]?.[1] ?? Number.POSITIVE_INFINITY,
      zone: new TimeZone(name),
    }))
  }

  /** The current zone. */
  get timeZone(): string {
    return (this.#zones.at(-1) as ZonePeriod).name
  }

  /** Since when the current zone applies; 0 if the account has had no other. */
  get sinceMs(): number {
    return (this.#zones.at(-1) as ZonePeriod).sinceMs
  }

  /** Returns the zone of a day, at its start. */
  timeZoneOn(day: number): string {
    return this.#periodAt(this.startOf(day)).name
  }

  /** Returns the current day. */
  today(): number {
    return this.dayAt(Date.now())
  }

  /** Returns the day of a time. */
  dayAt(ms: number): number {
    return toUtcDay(this.localTimeAt(ms))
  }

  /** Returns the local time, as if it was UTC. */
  localTimeAt(ms: number): number {
    return ms + this.#periodAt(ms).zone.spanAt(ms).offsetMs
  }

  /** Returns the hour of a time. */
  hourAt(ms: number): ClickHour {
    const { zone } = this.#periodAt(ms)
    const span = zone.spanAt(ms)
    const day = toUtcDay(ms + span.offsetMs)
    return { day, hour: (startOfLocalHour(span, ms) - day * dayMs) / hourMs, dayStartMs: startOfDay(zone, day) }
  }

  /** Returns the start of a day. A date that the zone skips starts with the next one. */
  startOf(day: number): number {
    let start = Number.NaN
    for (const { zone, sinceMs, untilMs } of this.#zones) {
      start = startOfDay(zone, day)
      // After a change to a zone in the west, a date is there twice.
      if (start < untilMs) return Math.max(start, sinceMs === 0 ? start : sinceMs)
    }
    return start
  }

  /** Returns the starts of all hours from one day to another. Days have 23 to 25 hours, except when the zone changes. */
  hoursBetween(from: number, to: number): number[] {
    const starts = new Set<number>()
    const end = (to + 3) * dayMs
    for (let ms = (from - 2) * dayMs; ms < end; ) {
      const { zone, untilMs } = this.#periodAt(ms)
      const span = zone.spanAt(ms)
      const day = toUtcDay(ms + span.offsetMs)
      const start = startOfLocalHour(span, ms)
      if (day >= from && day <= to) starts.add(start)
      const next = ms + hourMs - mod(ms + span.offsetMs, hourMs)
      ms = Math.min(next, span.untilMs, untilMs)
    }
    return [...starts].sort((a, b) => a - b)
  }

  #periodAt(ms: number): ZonePeriod {
    return this.#zones.findLast(({ sinceMs }) => sinceMs <= ms) ?? (this.#zones[0] as ZonePeriod)
  }
}

interface ZonePeriod {
  readonly name: string
  readonly sinceMs: number
  readonly untilMs: number
  readonly zone: TimeZone
}

/** Returns the start of the hour that a clock shows. Where the clock changes within an hour, another hour starts. */
function startOfLocalHour({ fromMs, offsetMs }: OffsetSpan, ms: number): number {
  return Math.max(fromMs, ms - mod(ms + offsetMs, hourMs))
}

/** Returns the first time whose local date is the day or later. */
function startOfDay(zone: TimeZone, day: number): number {
  const midnight = day * dayMs
  for (let ms = midnight - 2 * dayMs; ; ) {
    const { fromMs, untilMs, offsetMs } = zone.spanAt(ms)
    const start = Math.max(fromMs, midnight - offsetMs)
    if (start < untilMs) return start
    ms = untilMs
  }
}

function mod(value: number, divisor: number): number {
  return value - Math.floor(value / divisor) * divisor
}

/** Returns the calendar of an account's stored `time_zones`. */
export const calendarOf = memoized((timeZones) => new Calendar(parseTimeZones(timeZones)))

/** The calendar of accounts that never set a zone. */
export const utc = calendarOf('[["UTC",0]]')

/** Returns the start of the hour of a time, in UTC. */
export function startOfHour(ms: number): number {
  return ms - (ms % hourMs)
}

/** Returns the day as `YYYY-MM-DD`. */
export function dayText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

/** Returns the month of a day: the number of months since the year 0. */
export function toMonth(day: number): number {
  const date = new Date(day * dayMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** Returns the first day of a month. */
export function firstDay(month: number): number {
  return toUtcDay(Date.UTC(Math.floor(month / 12), month % 12))
}
