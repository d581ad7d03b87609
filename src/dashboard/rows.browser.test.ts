/** The rows of lists in a real browser: how high they are, which columns stay, and what is in reach. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { browserForTests, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'
import { fullApp } from '../../test/dashboard-pages.ts'

const openWindow = browserForTests()
/** None of the tests changes it. */
const app = await fullApp()

async function listOn(options?: BrowserContextOptions, query = ''): Promise<Page> {
  const { page } = await openWindow(options)
  await signIn(app, page)
  await page.goto(`${app.origin}/app/links${query}`)
  return page
}

interface Measures {
  /** Of the highest row, and of the lead column, in CSS pixels. */
  readonly height: number
  readonly lead: number
  /** Of the columns that are shown. */
  readonly heads: readonly string[]
  readonly edges: readonly number[]
}

function measured(page: Page): Promise<Measures> {
  return page.evaluate(`(() => {
    const heads = [...document.querySelectorAll('thead th')].filter((head) => head.checkVisibility())
    const boxes = [...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect())
    return {
      height: Math.max(...boxes.map(({ height }) => height)),
      lead: document.querySelector('tbody .lead-cell').getBoundingClientRect().width,
      heads: heads.map(({ innerText }) => innerText),
      edges: heads.map((head) => head.getBoundingClientRect().left),
    }
  })()`)
}

test('columns leave before the link has too little room, and rows have two lines from 560 pixels on', {
  skip,
}, async () => {
  const page = await listOn()
  const all = ['Select', 'Link', 'Space', 'Clicks in 30 days', 'All clicks', 'Created', 'Actions']
  for (const [width, gone] of [
    [1280, []],
    [1100, ['Space']],
    [1024, ['Space', 'All clicks']],
    [940, ['Space', 'All clicks']],
    [768, ['Space', 'All clicks', 'Created']],
    [700, ['Space', 'All clicks']],
    [560, ['Space', 'All clicks', 'Created']],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    const { height, lead, heads } = await measured(page)
    assert.deepEqual(
      heads,
      all.filter((head) => !(gone as readonly string[]).includes(head)),
      `at ${width}`,
    )
    assert.ok(height <= 72 && lead >= 256, `at ${width}, a row is ${height} high and its link ${lead} wide`)
  }
})

test('columns stand where they stand whatever is on the page', { skip }, async () => {
  const page = await listOn()
  const { edges } = await measured(page)
  for (const query of ['?search=odd', '?search=newsletter&sort_by=clicks', '?page=2']) {
    await page.goto(`${app.origin}/app/links${query}`)
    assert.deepEqual((await measured(page)).edges, edges, query)
  }
})

test('on a phone, a row has three lines', { skip }, async () => {
  const page = await listOn(phone())
  const { height } = await measured(page)
  await shoot(page, '390-light-rows')
  assert.ok(height <= 108, `a row is ${height} high`)
})

test('on a phone, a menu sorts, and hidden heads are out of reach', { skip }, async () => {
  const page = await listOn(phone())
  assert.equal(await page.locator('thead a').locator('visible=true').count(), 0)
  await page.getByRole('columnheader', { name: 'Link' }).waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Sort by Created, newest first' }).click()
  await page.getByRole('link', { name: 'All clicks, most first' }).click()
  await page.getByRole('button', { name: 'Sort by All clicks, most first' }).waitFor()
  assert.match(page.url(), /\?sort_by=clicks&sort=desc$/)
  assert.equal(
    await page.getByRole('rowheader').first().getByRole('link', { name: 'go.acme.com:3080/summer' }).count(),
    1,
  )
})

test('"Copied" stands in one line over its button, and covers no words', { skip }, async () => {
  const page = await listOn({ ...phone(), permissions: ['clipboard-write'] }, '?sort_by=clicks')
  await page.getByRole('button', { name: 'Copy the short link' }).first().click()
  await page.locator('[data-copied]').waitFor()
  const { height, left, top, pathRight, headBottom } = await page.evaluate<Record<string, number>>(`(() => {
    const row = document.querySelector('tbody tr')
    const { height, left, top } = row.querySelector('.said').getBoundingClientRect()
    const { right } = row.querySelector('.path').getBoundingClientRect()
    return { height, left, top, pathRight: right, headBottom: row.getBoundingClientRect().top }
  })()`)
  assert.ok(Number(height) <= 32, `it is ${height} high`)
  assert.ok(Number(left) >= Number(pathRight) && Number(top) >= Number(headBottom))
})
