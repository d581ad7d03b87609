import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertWellFormed, textsOf } from '../../../test/well-formed.ts'
import { calendarOf, utc } from '../../accounts/calendar.ts'
import { type Interval, intervals } from '../../analytics/statistics/day-range.ts'
import { Series } from '../../analytics/statistics/series.ts'
import type { Html } from '../../http/html.ts'
import { maxCompared } from '../parts/link-actions.ts'
import { areaChart } from './area-chart.ts'
import { lineChart } from './line-chart.ts'
import { bucketName, createAxis, labelIndexes, plotHeight, plotWidth } from './plot.ts'

const today = Date.parse('2026-11-22') / 86_400_000

/** Returns a chart of the last days in UTC, with these clicks in its first buckets. */
function chartOf(days: number, interval: Interval, clicks: readonly number[]) {
  const { buckets, localStarts } = new Series({ from: today - days + 1, to: today }, interval, utc)
  const counted = buckets.map((bucket, place) => {
    const people = clicks[place] ?? 0
    return { ...bucket, clicks: people, unique_clicks: people % 7, bots: people % 5, previews: people % 3 }
  })
  const started = counted.length
  return { buckets: counted, localStarts, timeZone: 'UTC', interval, started, currentHour: 9, title: `<">'&]]>é💩` }
}

function earlier(clicks: readonly (number | null)[], total: number) {
  const totals = { clicks: total, unique_clicks: 0, bots: 0, previews: 0 }
  return { phrase: 'previous period', clicks, totals }
}

type Chart = ReturnType<typeof chartOf>

function assertWellDrawn(drawn: Html, { started }: Chart): void {
  assertWellFormed(drawn)
  assert.doesNotMatch(drawn.text, /NaN|Infinity|undefined|null/)
  assert.equal(textsOf(drawn, 'title').length, started)
}

function assertWithinFrame({ text }: Html): void {
  for (const [, path = ''] of text.matchAll(/ d="(M[^"]*)"/g)) {
    const numbers = path.match(/-?\d+(\.\d+)?/g)?.map(Number) ?? []
    assert.ok(
      numbers.every((each, at) => each >= 0 && each <= (at % 2 === 0 ? plotWidth : plotHeight)),
      path,
    )
  }
}

/** Checks that the columns of the table add up to its last row. */
function assertAddsUp({ text }: Html): void {
  const rows = text.split('<tr>').slice(2)
  const figures = rows.map((row) => [...row.matchAll(/<td>([\d,]+)/g)].map(([, n]) => Number(n?.replaceAll(',', ''))))
  const sums = [0, 1, 2, 3].map((at) => figures.slice(0, -1).reduce((sum, row) => sum + Number(row[at]), 0))
  assert.deepEqual(figures.at(-1), sums)
}

for (const interval of intervals) {
  test(`draws well-formed charts by ${interval} within their frame, whose table adds up`, () => {
    const figures = [[], [0, 1, 0], [3, 2_000, Math.floor(Number.MAX_SAFE_INTEGER / 1_000)]]
    const charts = [1, 2, 90].flatMap((days) => figures.map((clicks) => chartOf(days, interval, clicks)))
    for (const chart of charts) {
      const line = { label: chart.title, clicks: chart.buckets.map((bucket) => bucket.clicks) }
      assertWellDrawn(lineChart({ ...chart, lines: Array.from({ length: maxCompared }, () => line) }), chart)
      for (const before of [null, earlier([1, null, 70], 71)]) {
        const drawn = areaChart({ ...chart, before })
        assertWellDrawn(drawn, chart)
        assertWithinFrame(drawn)
      }
      assertAddsUp(areaChart({ ...chart, before: null }))
    }
  })
}

test('labels each axis with at most four whole numbers, up to at least the highest figure', () => {
  for (const most of [0, 1, 2, 7, 99, 1_234, Number.MAX_SAFE_INTEGER]) {
    const { ticks } = createAxis([0, most])
    assert.ok(ticks.length > 1 && ticks.length <= 4 && ticks.every(Number.isInteger), `${ticks}`)
    assert.ok(Math.max(1, most) <= (ticks.at(-1) as number))
  }
  for (const interval of intervals) {
    for (const count of [1, 2, 3, 5, 24, 31, 800]) {
      const places = labelIndexes(count, interval)
      assert.ok(places.length > 0 && places.length <= 4, `${places}`)
      assert.ok(places[0] === 0 && places.at(-1) === count - 1)
      assert.deepEqual(
        places,
        [...new Set(places)].sort((a, b) => a - b),
      )
    }
  }
})

test('the clicks of the earlier period add up to its total until now', () => {
  const week = { ...chartOf(7, 'day', [1, 2, 3]), started: 3 }
  const chart = areaChart({ ...week, before: earlier([4, null, 60, 700], 29) })
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
