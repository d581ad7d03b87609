/** The hours, days or months of a chart: their names, and the labels of the axis. */
import type { Interval } from '../../analytics/statistics/day-range.ts'
import { html, type Part } from '../../http/html.ts'

export interface TimeAxis {
  /** All buckets of the range, empty ones included; at least one. */
  readonly buckets: readonly { readonly start_at: string }[]
  /** The start of each bucket in local time, as if it was UTC; in UTC by default. */
  readonly localStarts?: readonly number[]
  /** UTC by default. */
  readonly timeZone?: string
  readonly started: number
  /** The current hour; null unless the last started bucket is still running. */
  readonly currentHour: number | null
  readonly interval: Interval
  /** Returns the URL of a page about a bucket, if there is one. */
  readonly hrefOf?: ((place: number) => string) | undefined
}

const utc = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options })
const [year, month, day, weekday] = ['numeric', 'short', 'numeric', 'short'] as const
const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

/** `Nov 22, 2026, 15:00`, `Sun, Nov 22, 2026`, `November 2026`; for the axis `15:00`, `Nov 22`, `Nov 2026`. */
const long = {
  hour: utc({ day, month, year, ...time }),
  day: utc({ weekday, day, month, year }),
  month: utc({ month: 'long', year }),
}
const short = { hour: utc(time), day: utc({ day, month }), month: utc({ month, year }) }

/** Returns the start of a bucket in local time, as if it was UTC. */
function localStart({ buckets, localStarts }: TimeAxis, place: number): Date {
  return new Date(localStarts?.[place] ?? (buckets[place] as TimeAxis['buckets'][number]).start_at)
}

/** Returns the name of a bucket. When clocks go back, two hours have the same name and get their offsets. */
export function bucketName(axis: TimeAxis, place: number): string {
  const { buckets, localStarts = [], interval } = axis
  const name = long[interval].format(localStart(axis, place))
  const local = localStarts[place]
  const isTwice = local !== undefined && localStarts.indexOf(local) !== localStarts.lastIndexOf(local)
  if (!isTwice) return name
  const offset = local - Date.parse((buckets[place] as TimeAxis['buckets'][number]).start_at)
  return `${name} (${offsetText(offset / 60_000)})`
}

/** "UTC+1", "UTC-3:30" */
function offsetText(minutes: number): string {
  const rest = Math.abs(minutes) % 60
  const hours = Math.floor(Math.abs(minutes) / 60)
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`
}

/** Returns the name of a bucket, and whether it is still running. */
export function bucketTitle(axis: TimeAxis, place: number): string {
  const { started, currentHour } = axis
  const name = bucketName(axis, place)
  return currentHour !== null && place === started - 1 ? `${name}, so far` : name
}

/** Renders the title of a bucket as a link to its page. */
export function bucketLink(axis: TimeAxis, place: number): Part {
  const title = bucketTitle(axis, place)
  return axis.hrefOf === undefined ? title : html`<a href="${axis.hrefOf(place)}">${title}</a>`
}

/** Returns "Wed, Nov 18, 2026 to Sun, Nov 22, 2026, so far": all buckets that have started. */
export function startedRange(axis: TimeAxis): string {
  const last = bucketTitle(axis, axis.started - 1)
  return axis.started === 1 ? last : `${bucketTitle(axis, 0)} to ${last}`
}

/** Returns the label of a bucket on the axis. Midnight shows the day. */
export function axisLabel(axis: TimeAxis, place: number): string {
  const date = localStart(axis, place)
  return short[axis.interval === 'hour' && date.getUTCHours() === 0 ? 'day' : axis.interval].format(date)
}

/** Returns the header of the first column in tables. */
export function axisHeading({ interval, timeZone = 'UTC' }: Pick<TimeAxis, 'interval' | 'timeZone'>): string {
  return { hour: `Hour (${timeZone})`, day: 'Day', month: 'Month' }[interval]
}

/** Returns the indexes of at most four labels, including the first and the last. Hours are at midnight or noon. */
export function labelIndexes(count: number, interval: Interval): number[] {
  const last = count - 1
  if (interval === 'hour') {
    const days = Math.ceil(count / 24)
    const step = days > 2 ? 24 * Math.ceil(days / 3) : 12 * days
    const places = Array.from({ length: Math.ceil(count / step) }, (_, n) => n * step)
    return [...new Set([0, ...places.filter((place) => place <= last - step / 2), last])]
  }
  const steps = Math.min(3, last)
  return steps === 0 ? [0] : Array.from({ length: steps + 1 }, (_, n) => Math.round((n * last) / steps))
}
