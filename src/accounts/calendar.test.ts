import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { timeZoneNames } from '../lib/time-zone.ts'
import { Calendar, dayMs, hourMs, timeOfHour } from './calendar.ts'

const zones = [...timeZoneNames, 'US/Pacific', 'Etc/GMT+12']
const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the local date and hour by `Intl`, such as "2026-10-25 02". */
function localHour(zone: string, ms: number): string {
  const [year, month, day, hour] = ['numeric', '2-digit', '2-digit', '2-digit'] as const
  const options = { timeZone: zone, hourCycle: 'h23', year, month, day, hour } as const
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('sv-SE', options)
  formats.set(zone, format)
  return format.format(ms)
}

/** Returns the same text by the calendar. */
function hourOfCalendar(calendar: Calendar, ms: number): string {
  return new Date(calendar.localTimeAt(ms)).toISOString().slice(0, 13).replace('T', ' ')
}

/** Times around changes of clocks: in Berlin, Lord Howe, Cairo, Casablanca and New York, and a date that Apia skipped. */
const changes = [
  '2026-03-29T01:00',
  '2026-10-25T01:00',
  '2026-04-04T15:00',
  '2026-10-03T15:30',
  '2026-04-23T22:00',
  '2026-02-15T02:00',
  '2026-11-01T06:00',
  '2011-12-30T10:00',
].map((text) => Date.parse(`${text}Z`))

const times = fc.oneof(
  fc.integer({ min: Date.UTC(2000), max: Date.UTC(2040) }),
  fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -30 * hourMs, max: 30 * hourMs })).map(([at, ms]) => at + ms),
)

test('a click belongs to the date and hour that Intl shows, in every zone', () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), times, (zone, ms) => {
      const calendar = new Calendar([[zone, 0]])
      const { day, hour, dayStartMs } = calendar.hourAt(ms)
      const start = timeOfHour(day, hour)
      const local = localHour(zone, ms)
      assert.equal(hourOfCalendar(calendar, ms), local)
      assert.equal(new Date(day * dayMs).toISOString().slice(0, 10), local.slice(0, 10))
      assert.ok(start <= ms && ms < start + hourMs)
      assert.equal(localHour(zone, start), local)
      assert.equal(dayStartMs, calendar.startOf(day))
      // Salts are deleted 30 hours after the start of their day.
      assert.ok(dayStartMs <= ms && ms - dayStartMs < 26 * hourMs)
      assert.notEqual(localHour(zone, dayStartMs - 1).slice(0, 10), local.slice(0, 10))
    }),
    { numRuns: 2_000 },
  )
})

test('the hours of days include the hour of each of their clicks, once and in order', () => {
  const changed = fc.tuple(fc.constantFrom(...zones), fc.constantFrom(...zones), times, times)
  fc.assert(
    fc.property(changed, ([first, second, since, ms]) => {
      const calendar = new Calendar([
        [first, 0],
        [second, since],
      ])
      const { day, hour } = calendar.hourAt(ms)
      const hours = calendar.hoursBetween(day - 1, day + 1)
      assert.ok(hours.includes(timeOfHour(day, hour)))
      assert.deepEqual(
        hours,
        [...new Set(hours)].sort((a, b) => a - b),
      )
      assert.ok(calendar.startOf(day) <= ms && calendar.startOf(day) <= calendar.startOf(day + 1))
    }),
    { numRuns: 500 },
  )
})

test('days have 23, 24, 24.5 or 25 hours, and skipped dates none', () => {
  const hoursOn = (zone: string, date: string) => {
    const day = Date.parse(date) / dayMs
    return new Calendar([[zone, 0]]).hoursBetween(day, day).map((ms) => new Date(ms).toISOString().slice(0, 16))
  }
  for (const [zone, date, count, first] of [
    ['UTC', '2026-03-29', 24, '2026-03-29T00:00'],
    ['Europe/Berlin', '2026-03-29', 23, '2026-03-28T23:00'],
    ['Europe/Berlin', '2026-10-25', 25, '2026-10-24T22:00'],
    ['Asia/Kolkata', '2026-10-25', 24, '2026-10-24T18:30'],
    ['Asia/Kathmandu', '2026-10-25', 24, '2026-10-24T18:15'],
    ['Australia/Lord_Howe', '2026-04-05', 25, '2026-04-04T13:00'],
    ['Africa/Cairo', '2026-04-24', 23, '2026-04-23T22:00'],
    ['Pacific/Apia', '2011-12-30', 0, undefined],
  ] as const) {
    const hours = hoursOn(zone, date)
    assert.deepEqual([hours.length, hours[0]], [count, first], `${zone} ${date}`)
  }
})

test('a change of the zone affects later times only', () => {
  const since = Date.parse('2026-11-24T10:20Z')
  const calendar = new Calendar([
    ['UTC', 0],
    ['Asia/Kathmandu', since],
  ])
  const day = Date.parse('2026-11-24') / dayMs
  assert.deepEqual([calendar.timeZone, calendar.sinceMs], ['Asia/Kathmandu', since])
  assert.deepEqual([calendar.timeZoneOn(day), calendar.timeZoneOn(day + 1)], ['UTC', 'Asia/Kathmandu'])
  assert.equal(calendar.hourAt(since - 1).hour, 10)
  assert.equal(calendar.hourAt(since).hour, 10.25)
  assert.equal(calendar.startOf(day), day * dayMs)
  assert.equal(calendar.startOf(day + 1), day * dayMs + 18.25 * hourMs)
})
