/** List rows in a real browser: heights, columns and reachable controls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { browserForTests, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'
import { fullApp } from '../../test/dashboard-pages.ts'

const openWindow = browserForTests()
/** Tests only read it. */
const app = await fullApp()

async function listOn(options?: BrowserContextOptions, query = ''): Promise<Page> {
  const { page } = await openWindow(options)
  await signIn(app, page)
  await page.goto(`${app.origin}/app/links${query}`)
  return page
}

interface Measures {
  /** The height of the highest row and the width of the lead column, in CSS pixels. */
  readonly height: number
  readonly lead: number
  /** The headers of visible columns. */
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

test('hides columns before the link gets too narrow; rows have two lines from 560 pixels', {
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

test('keeps the selection bar within reach at any width', { skip }, async () => {
  for (const width of [1280, 768, 390, 320]) {
    const page = await listOn(width < 768 ? phone(width) : { viewport: { width, height: 800 } })
    await page
      .getByRole('checkbox', { name: /^Select / })
      .first()
      .check()
    if (width < 768) {
      await page.getByRole('button', { name: 'Actions', exact: true }).focus()
      await page.keyboard.press('Enter')
    }
    await shoot(page, `${width}-light-selection`)
    for (const name of ['Enable', 'Disable', 'Move', 'Delete']) {
      const button = page.locator('form.selection').getByRole('button', { name, exact: true })
      const { x, y, width: wide, height } = (await button.boundingBox()) ?? assert.fail(`${name} is hidden at ${width}`)
      assert.ok(x >= 0 && x + wide <= width && y >= 0 && y + height <= (width < 768 ? 844 : 800), `${name} at ${width}`)
      await button.click({ trial: true })
    }
    const { scroll, client } = await page
      .locator('form.selection')
      .evaluate((bar: { scrollWidth: number; clientWidth: number }) => ({
        scroll: bar.scrollWidth,
        client: bar.clientWidth,
      }))
    assert.equal(scroll, client, `the bar scrolls at ${width}`)
    await page.context().close()
  }
})

test('a phone sorts with a menu, and its hidden headers are not focusable', { skip }, async () => {
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
