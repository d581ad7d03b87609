import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../../test/runs.ts'
import { assertWellFormed, textsOf } from '../../../test/well-formed.ts'
import { calendarOf, utc } from '../../analytics/calendar.ts'
import { type DayRange, type Interval, intervals } from '../../analytics/statistics/day-range.ts'
import { type Bucket, Series } from '../../analytics/statistics/series.ts'
import type { Html } from '../../http/html.ts'
import { areaChart as areaChartOf, type ClicksChart } from './area-chart.ts'
import { lineChart, maxLines } from './line-chart.ts'
import { bucketName, createAxis, labelIndexes, plotHeight, plotWidth } from './plot.ts'

const today = Date.parse('2026-11-22') / 86_400_000
const week = { from: today - 6, to: today }

/** Returns buckets with these clicks, followed by zeros. */
function bucketsOf(range: DayRange, interval: Interval, clicks: readonly number[]): Bucket[] {
  return new Series(range, interval, utc).buckets.map((bucket, place) => {
    const people = clicks[place] ?? 0
    return { ...bucket, clicks: people, unique_clicks: people % 7, bots: people % 5, previews: people % 3 }
  })
}

/** Renders the chart of a past period by default. */
const areaChart = (chart: Partial<ClicksChart> & Pick<ClicksChart, 'buckets' | 'interval' | 'title'>) =>
  areaChartOf({ started: chart.buckets.length, currentHour: null, ...chart })

const comparedWith = (clicks: readonly (number | null)[]) => {
  const untilNow = clicks.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  return { phrase: 'previous period', clicks, untilNow }
}

const weekOf = (...clicks: number[]) => bucketsOf(week, 'day', clicks)
const titlesOf = (chart: Html) => textsOf(chart, 'title')

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
    before: fc.option(fc.array(fc.option(clicks), { maxLength: 40 }), { nil: undefined }),
    left: fc.nat(3),
    currentHour: fc.option(fc.nat(24)),
    title: fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', ']]>', 'é', '💩', 'a') }),
  })
  .map(({ interval, days, figures, before, left, currentHour, title }) => {
    const buckets = bucketsOf({ from: today - days + 1, to: today }, interval, figures)
    const started = Math.max(0, buckets.length - left)
    const hour = started === 0 ? null : currentHour
    return { buckets, started, currentHour: hour, interval, title, ...(before && { before: comparedWith(before) }) }
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

test('draws a well-formed chart within its frame for any figures', () => {
  fc.assert(
    fc.property(charts, (chart) => {
      const drawn = areaChart(chart)
      assertWellFormed(drawn)
      assert.doesNotMatch(drawn.text, /NaN|Infinity|undefined|null/)
      assertWithinFrame(drawn)
    }),
    { numRuns: runs(100, 40) },
  )
})

test('draws well-formed lines of links within their frame', () => {
  fc.assert(
    fc.property(charts, fc.integer({ min: 1, max: maxLines }), ({ before: _, ...chart }, count) => {
      const lines = Array.from({ length: count }, () => ({
        label: chart.title,
        clicks: chart.buckets.map((bucket) => bucket.clicks),
      }))
      const drawn = lineChart({ ...chart, lines })
      assertWellFormed(drawn)
      assert.doesNotMatch(drawn.text, /NaN|Infinity|undefined|null/)
      assert.equal(textsOf(drawn, 'title').length, chart.started)
    }),
    { numRuns: runs(100, 40) },
  )
})

test('the table has a row for each started bucket, and its columns add up to the totals', () => {
  fc.assert(
    fc.property(charts, ({ before: _, ...chart }) => {
      const rows = textsOf(areaChart(chart), 'tr').slice(1)
      assert.equal(rows.length, chart.started + 1)
      const cells = [...areaChart(chart).text.matchAll(/<td>([\d,]+)<\/td>/g)].map(([, text = '']) =>
        Number(text.replaceAll(',', '')),
      )
      for (let column = 0; column < 4; column++) {
        const figures = cells.filter((_cell, at) => at % 4 === column)
        assert.equal(
          figures.slice(0, -1).reduce((sum, figure) => sum + figure, 0),
          figures.at(-1),
        )
      }
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
  const before = { phrase: 'same period last year', clicks: [4, null, 60, 700], untilNow: 29 }
  const chart = {
    buckets: weekOf(1, 2, 3),
    started: 3,
    currentHour: 9,
    interval: 'day',
    title: 'Clicks',
    before,
  } as const
  const cells = textsOf(areaChart(chart), 'td').filter((_, place) => place % 5 === 4)
  assert.deepEqual(cells, ['4', '', '25', '29'])
  assert.deepEqual(titlesOf(areaChart(chart)), [
    'Mon, Nov 16, 2026: 1 click (same period last year: 4)',
    'Tue, Nov 17, 2026: 2 clicks',
    'Wed, Nov 18, 2026, so far: 3 clicks (same period last year: 25)',
  ])
})

test('names both hours with their offsets when clocks go back', () => {
  const berlin = calendarOf('[["Europe/Berlin",0]]')
  const day = Date.parse('2026-10-25') / 86_400_000
  const { buckets, localStarts } = new Series({ from: day, to: day }, 'hour', berlin)
  const axis = { buckets, localStarts, started: 25, currentHour: null, interval: 'hour' } as const
  assert.deepEqual(
    [1, 2, 3, 4].map((place) => bucketName(axis, place)),
    ['Oct 25, 2026, 01:00', 'Oct 25, 2026, 02:00 (UTC+2)', 'Oct 25, 2026, 02:00 (UTC+1)', 'Oct 25, 2026, 03:00'],
  )
})
