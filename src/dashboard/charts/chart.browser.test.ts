/** `scripts/chart.js` in a browser: pointer, touch and arrow keys. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { browserForTests, skip } from '../../../test/dashboard-browser.ts'
import { utc } from '../../accounts/calendar.ts'
import { Series } from '../../analytics/statistics/series.ts'
import { html } from '../../http/html.ts'
import { areaChart } from './area-chart.ts'
import { lineChart } from './line-chart.ts'
import { barChart } from './small-charts.ts'

const openWindow = browserForTests()
const origin = 'https://waymark.invalid'

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const today = Date.parse('2026-11-22') / 86_400_000
const { buckets, localStarts } = new Series({ from: today - 4, to: today }, 'day', utc)
for (const [place, bucket] of buckets.entries()) bucket.clicks = place * 10

const series = { buckets, localStarts, timeZone: 'UTC', started: 5, currentHour: null, interval: 'day' } as const
const clicks = { ...series, before: null, title: 'Clicks', hrefOf: (place: number) => `/?day=${place}` }

const policy = "default-src 'none'; script-src 'self'; style-src 'self'"
const markup = html`<!doctype html><html lang="en"><meta charset="utf-8"><title>Charts</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/charts.css"><script type="module" src="/chart.js"></script>
<main><h1>Charts</h1>${areaChart(clicks)}
${lineChart({ ...series, title: 'Compared', lines: [...'ab'].map((label, at) => ({ label, clicks: [0, 1, 2, 3, at] })) })}
${barChart({ title: 'Countries', rows: [{ label: 'a'.repeat(300), clicks: 3 }], others: 1, allHref: null })}</main></html>`

const sheets = [
  'frame/styles/reset',
  'frame/styles/tokens',
  'dashboard/styles/parts/charts',
  'dashboard/styles/parts/bars',
]
const files: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': ['text/html', markup.text],
  '/charts.css': ['text/css', sheets.map((name) => file(`${name}.css`)).join('')],
  '/chart.js': ['text/javascript', file('dashboard/scripts/chart.js')],
}

/** Returns a page with a chart of five days, and its console messages. */
async function visit(options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  const { page, complaints } = await openWindow(options)
  await page.route('**/*', (route) => {
    const [contentType, body] = files[new URL(route.request().url()).pathname] ?? ['text/plain', '']
    return route.fulfill({ contentType, body, headers: { 'content-security-policy': policy } })
  })
  await page.goto(origin)
  return { page, complaints }
}

const reading = (page: Page) => page.locator('.chart-reading').first().textContent()

test('arrow keys move from day to day, and announce and mark the value of each line', { skip }, async () => {
  const { page, complaints } = await visit()
  await page.keyboard.press('Tab')
  const plot = page.getByRole('slider', { name: /^Clicks, Wed, Nov 18, 2026 to Sun, Nov 22, 2026: 100 clicks/ })
  assert.equal(await page.locator('.chart-plot:focus').count(), 1)
  for (const [key, day, clicks] of [
    ['', 'Sun, Nov 22', 40],
    ['ArrowLeft', 'Sat, Nov 21', 30],
    ['ArrowRight', 'Sun, Nov 22', 40],
    ['ArrowRight', 'Sun, Nov 22', 40],
    ['Home', 'Wed, Nov 18', 0],
    ['PageUp', 'Thu, Nov 19', 10],
    ['End', 'Sun, Nov 22', 40],
    ['PageDown', 'Sat, Nov 21', 30],
    ['Control+ArrowLeft', 'Sat, Nov 21', 30],
    ['Escape', 'Sat, Nov 21', 30],
  ] as const) {
    if (key !== '') await page.keyboard.press(key)
    assert.equal(await reading(page), `${day}, 2026: ${clicks} clicks`)
    assert.equal(await plot.getAttribute('aria-valuetext'), await reading(page))
  }
  await page.keyboard.press('Tab')
  assert.equal(await reading(page), '')
  const name = /^Compared, Wed, Nov 18, 2026 to Sun, Nov 22, 2026\. a: 6 clicks, b: 7/
  const compared = page.getByRole('slider', { name })
  await compared.focus()
  await page.keyboard.press('End')
  assert.equal(await compared.getAttribute('aria-valuetext'), 'Sun, Nov 22, 2026\na: 0\nb: 1')
  const heights = await Promise.all(
    (await compared.locator('.chart-pointed').all()).map((dot) => dot.getAttribute('cy')),
  )
  assert.equal(new Set(heights).size, 2)
  assert.deepEqual(complaints, [])
})

test('marks and shows the day nearest to the pointer until the pointer leaves', { skip }, async () => {
  const { page } = await visit()
  const plot = page.locator('.chart-plot').first()
  const boxOf = async (selector: string) =>
    (await page.locator(selector).first().boundingBox()) ?? assert.fail(selector)
  const { x, width } = await boxOf('.chart-plot')
  await plot.hover({ position: { x: width * 0.55, y: 100 } })
  assert.equal(await reading(page), 'Fri, Nov 20, 2026: 20 clicks')
  const said = await boxOf('.chart-reading')
  assert.ok(Math.abs(said.x + said.width / 2 - (x + width / 2)) < 2, 'the figure is far from its point')
  const mark = page.locator('.chart-pointed').first()
  assert.deepEqual([await mark.getAttribute('cx'), await mark.getAttribute('visibility')], ['50%', 'visible'])
  await page.keyboard.press('Tab')
  const [last, drawing] = [await boxOf('.chart-reading'), await boxOf('.chart-drawing')]
  assert.ok(last.x + last.width <= drawing.x + drawing.width + 1, 'the figure leaves the chart')
  await page.keyboard.press('Tab')
  await page.mouse.move(0, 0)
  assert.deepEqual([await reading(page), await mark.getAttribute('visibility')], ['', 'hidden'])
})

test('a click and Enter open a day’s page, and so does its link in the table', { skip }, async () => {
  const { page } = await visit()
  const plot = page.locator('.chart-plot').first()
  const { width } = (await plot.boundingBox()) ?? assert.fail()
  await plot.click({ position: { x: width * 0.55, y: 100 } })
  await page.waitForURL('**/?day=2')
  await page.locator('.chart-plot').first().press('Enter')
  await page.waitForURL('**/?day=4')
  await page.getByText('Show as table').first().click()
  await page.getByRole('link', { name: 'Wed, Nov 18, 2026' }).click()
  await page.waitForURL('**/?day=0')
})

test('keeps the day selected by touch after the finger is lifted', { skip }, async () => {
  const { page } = await visit({ hasTouch: true, viewport: { width: 390, height: 844 } })
  const plot = page.locator('.chart-plot').first()
  const { width } = (await plot.boundingBox()) ?? assert.fail()
  await plot.tap({ position: { x: width * 0.27, y: 50 } })
  assert.equal(await reading(page), 'Thu, Nov 19, 2026: 10 clicks')
})

test('columns have titles and the table expands without scripts', { skip }, async () => {
  const { page } = await visit({ javaScriptEnabled: false })
  assert.equal(await page.locator('.chart-column title').count(), 10)
  assert.equal(await page.getByRole('img', { name: /^Clicks/ }).count(), 1)
  await page.getByText('Show as table').first().click()
  assert.equal(await page.getByRole('row').count(), 7)
})
