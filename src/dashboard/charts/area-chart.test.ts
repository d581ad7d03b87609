import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../../test/runs.ts'
import { assertWellFormed, textsOf } from '../../../test/well-formed.ts'
import { calendarOf, utc } from '../../accounts/calendar.ts'
import { type DayRange, type Interval, intervals } from '../../analytics/statistics/day-range.ts'
import { Series } from '../../analytics/statistics/series.ts'
import type { Html } from '../../http/html.ts'
import { maxCompared } from '../parts/link-actions.ts'
import { areaChart } from './area-chart.ts'
import { lineChart } from './line-chart.ts'
import { bucketName, createAxis, labelIndexes, plotHeight, plotWidth } from './plot.ts'

const today = Date.parse('2026-11-22') / 86_400_000

/** Returns the axis of a range of days in UTC, with these clicks in its first buckets. */
function axisOf(range: DayRange, interval: Interval, clicks: readonly number[]) {
  const { buckets, localStarts } = new Series(range, interval, utc)
  const counted = buckets.map((bucket, place) => {
    const people = clicks[place] ?? 0
    return { ...bucket, clicks: people, unique_clicks: people % 7, bots: people % 5, previews: people % 3 }
  })
  return { buckets: counted, localStarts, timeZone: 'UTC', interval }
}

function earlier(
  clicks: readonly (number | null)[],
  total = clicks.reduce<number>((sum, each) => sum + (each ?? 0), 0),
) {
  const totals = { clicks: total, unique_clicks: 0, bots: 0, previews: 0 }
  return { phrase: 'previous period', clicks, totals }
}

const clicks = fc.oneof(
  fc.constant(0),
  fc.nat(3),
  fc.nat(2_000),
  fc.maxSafeNat().map((n) => Math.floor(n / 1_000)),
)
const charts = fc
  .record({
    interval: fc.constantFrom(...intervals),
    days: fc.oneof(fc.constantFrom(1, 2, 7, 30), fc.integer({ min: 1, max: 120 })),
    figures: fc.array(clicks, { maxLength: 40 }),
    before: fc.option(fc.array(fc.option(clicks), { maxLength: 40 })),
    left: fc.nat(3),
    currentHour: fc.option(fc.nat(24)),
    title: fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', ']]>', 'é', '💩', 'a') }),
  })
  .map(({ interval, days, figures, before, left, currentHour, title }) => {
    const axis = axisOf({ from: today - days + 1, to: today }, interval, figures)
    const started = Math.max(0, axis.buckets.length - left)
    const hour = started === 0 ? null : currentHour
    return { ...axis, started, currentHour: hour, title, before: before && earlier(before) }
  })

/** Checks lines, columns and relative positions. */
function assertWithinFrame({ text }: Html): void {
  for (const [, path = ''] of text.matchAll(/ d="(M[^"]*)"/g)) {
    const numbers = path.match(/-?\d+(\.\d+)?/g)?.map(Number) ?? []
    const isWithin = (number: number, at: number) => number >= 0 && number <= (at % 2 === 0 ? plotWidth : plotHeight)
    assert.ok(numbers.every(isWithin), path)
  }
  for (const [, x, width] of text.matchAll(/<rect [^>]*x="([^"]*)" width="([^"]*)"/g)) {
    assert.ok(Number(x) >= 0 && Number(width) > 0 && Number(x) + Number(width) <= plotWidth + 0.1)
  }
  for (const [, share = ''] of text.matchAll(/ (?:x|cx)="([^"%]*)%"/g))
    assert.ok(Number(share) >= 0 && Number(share) <= 100)
}

function assertWellDrawn(drawn: Html): void {
  assertWellFormed(drawn)
  assert.doesNotMatch(drawn.text, /NaN|Infinity|undefined|null/)
}

test('draws well-formed charts within their frame for any figures', () => {
  fc.assert(
    fc.property(charts, fc.integer({ min: 1, max: maxCompared }), (chart, count) => {
      assertWellDrawn(areaChart(chart))
      assertWithinFrame(areaChart(chart))
      const line = { label: chart.title, clicks: chart.buckets.map((bucket) => bucket.clicks) }
      const drawn = lineChart({ ...chart, lines: Array.from({ length: count }, () => line) })
      assertWellDrawn(drawn)
      assert.equal(textsOf(drawn, 'title').length, chart.started)
    }),
    { numRuns: runs(100, 40) },
  )
})

test('the table has a row for each started bucket, and its columns add up to the totals', () => {
  fc.assert(
    fc.property(charts, (chart) => {
      const [, ...rows] = areaChart({ ...chart, before: null })
        .text.split('<tr>')
        .slice(1)
      assert.equal(rows.length, chart.started + 1)
      const figures = rows.map((row) =>
        [...row.matchAll(/<td>([\d,]+)/g)].map(([, text]) => Number(text?.replaceAll(',', ''))),
      )
      const sums = [0, 1, 2, 3].map((column) => figures.slice(0, -1).reduce((sum, row) => sum + Number(row[column]), 0))
      assert.deepEqual(figures.at(-1), sums)
    }),
    { numRuns: runs(100, 40) },
  )
})

test('labels each axis with at most four whole numbers, up to at least the highest figure', () => {
  fc.assert(
    fc.property(
      fc.array(clicks),
      fc.integer({ min: 1, max: 800 }),
      fc.constantFrom(...intervals),
      (all, n, interval) => {
        const { ticks } = createAxis(all)
        assert.ok(ticks.length > 1 && ticks.length <= 4 && ticks.every(Number.isInteger), `${ticks}`)
        assert.ok(Math.max(1, ...all) <= (ticks.at(-1) as number))
        const places = labelIndexes(n, interval)
        assert.ok(places.length > 0 && places.length <= 4, `${places}`)
        assert.ok(places[0] === 0 && places.at(-1) === n - 1)
        assert.ok(places.every((place, at) => place >= 0 && place < n && place > (places[at - 1] ?? -1)))
      },
    ),
  )
})

test('the clicks of the earlier period add up to its total until now', () => {
  const week = axisOf({ from: today - 6, to: today }, 'day', [1, 2, 3])
  const before = earlier([4, null, 60, 700], 29)
  const chart = areaChart({ ...week, started: 3, currentHour: 9, title: 'Clicks', before })
  const cells = textsOf(chart, 'td').filter((_, place) => place % 5 === 4)
  assert.deepEqual(cells, ['4', '', '25', '29'])
  assert.deepEqual(textsOf(chart, 'title'), [
    'Mon, Nov 16, 2026: 1 click (previous period: 4)',
    'Tue, Nov 17, 2026: 2 clicks',
    'Wed, Nov 18, 2026, so far: 3 clicks (previous period: 25)',
  ])
})

test('names both hours with their offsets when clocks go back', () => {
  const berlin = calendarOf('[["Europe/Berlin",0]]')
  const day = Date.parse('2026-10-25') / 86_400_000
  const { buckets, localStarts } = new Series({ from: day, to: day }, 'hour', berlin)
  const axis = { buckets, localStarts, timeZone: '', started: 25, currentHour: null, interval: 'hour' } as const
  assert.deepEqual(
    [1, 2, 3, 4].map((place) => bucketName(axis, place)),
    ['Oct 25, 2026, 01:00', 'Oct 25, 2026, 02:00 (UTC+2)', 'Oct 25, 2026, 02:00 (UTC+1)', 'Oct 25, 2026, 03:00'],
  )
})
