/** The list of links in a real browser: its rows, filters and selection bar. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { today } from '../../src/accounts/calendar.ts'
import { startApp } from '../../test/app.ts'
import { browserForTests, findings, hasFocus, signIn, signInByKey, skip } from '../../test/dashboard-browser.ts'
import { addClicks, manyPeople } from '../../test/days.ts'

const openWindow = browserForTests()
const app = await startApp()
const { stored } = app
await stored('/domains', { name: 'go.acme.com' })
await stored('/spaces', { name: 'Summer campaign', color: 3 })

/** Returns the time in so many hours. */
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
const longTags = Array.from({ length: 20 }, (_, n) => `${n} ${'W'.repeat(47)}`)
for (const link of [
  { alias: 'plain', tags: ['print'] },
  { alias: 'expired-autumn-newsletter', active_period_end_at: inHours(-60), tags: ['newsletter', 'q4'] },
  {
    alias: 'expired-last-year-with-a-longer-name',
    active_period_end_at: '2025-11-01T00:00:00Z',
    tags: ['legal-approved'],
  },
  {
    alias: 'london-kit-guide-autumn-edition',
    active_period_end_at: inHours(23.5),
    tags: ['franchise', 'London', 'kit', 'guide'],
  },
  { alias: 'flyer-store-trial', active_period_end_at: inHours(50) },
  { alias: 'voucher', clicks_limit: 3, tags: Array.from({ length: 20 }, (_, n) => `tag ${n}`) },
  { alias: 'x'.repeat(128), tags: longTags },
  { alias: 'קיץ'.repeat(20), tags: ['מבצע קיץ 2026!', '🏖️'] },
]) {
  const title = `A longer title of ${link.alias.slice(0, 20)}`
  await stored('/links', { url: `https://www.acme.com/${'path/'.repeat(20)}`, title, space_id: 1, ...link })
}
await addClicks(app.storage, 6, today(), manyPeople(3, 'devices', 'desktop'))

async function visit(path: string, options: BrowserContextOptions = {}) {
  const opened = await openWindow(options)
  await signIn(app, opened.page, path)
  return opened
}

/** Returns the aliases, tags and statuses cut off or outside of their cell. */
function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('a.short-url, .path, .chips li, tbody .state')].flatMap((element) => {
    const range = document.createRange()
    range.selectNodeContents(element)
    const text = range.getBoundingClientRect()
    const cell = element.closest('th, td').getBoundingClientRect()
    const isOutside = text.left < cell.left - 1 || text.right > cell.right + 1 || text.top < cell.top - 1 || text.bottom > cell.bottom + 1
    return isOutside || element.scrollWidth > element.clientWidth ? [element.className + ' ' + element.textContent] : []
  })`)
}

test('shows aliases, tags and statuses whole in expired, ending, used-up and tagged rows at any width', {
  skip,
}, async () => {
  const { page, complaints } = await visit('/app/links')
  for (const width of [1920, 1280, 1024, 768, 390, 320]) {
    await page.setViewportSize({ width, height: 900 })
    assert.deepEqual(await cutTexts(page), [], `at ${width}`)
    assert.equal(await page.locator('.path').locator('visible=true').count(), 8)
    assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width, `at ${width}`)
  }
  // A row without a status has the width of that column.
  await page.setViewportSize({ width: 768, height: 900 })
  const { scroll, client } = await page
    .getByRole('row', { name: 'go.acme.com:3080/plain' })
    .locator('.host')
    .evaluate((host: { scrollWidth: number; clientWidth: number }) => ({
      scroll: host.scrollWidth,
      client: host.clientWidth,
    }))
  assert.ok(scroll <= client, 'the host is cut')
  await page.setViewportSize({ width: 1280, height: 900 })
  const row = (alias: string) => page.getByRole('row', { name: `go.acme.com:3080/${alias}` })
  const { height = 0 } = (await row('plain').boundingBox()) ?? {}
  assert.ok(height <= 53, `a row is ${height} high`)
  for (const [alias, status] of [
    ['voucher', 'Used up, 3 of 3'],
    ['expired-autumn', 'Expired 2 days ago'],
    ['expired-last-year', 'Expired Nov 1, 2025'],
    ['london', 'Ends in 23 hours'],
  ] as const) {
    assert.equal((await row(alias).locator('.state').innerText()).replace('\n', ' '), status)
  }
  assert.equal(await row('voucher').locator('.chips li').count(), 20)
  assert.equal(await page.locator('tbody .sparkline').count(), 1)
  assert.deepEqual(await findings(page), [])
  assert.deepEqual(complaints, [])
})

test('highlights a chosen filter immediately, and shows its whole text', { skip }, async () => {
  const { page } = await visit('/app/links')
  const status = page.getByLabel('Status')
  const colorOf = (name = 'status') =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('.filters [name=${name}]')).backgroundColor`)
  /** Returns how much wider the text is than its control. */
  const excess = () =>
    page.evaluate<number>(`(() => {
      const select = document.querySelector('.filters [name=status]')
      const copy = select.parentElement.appendChild(select.cloneNode(true))
      copy.value = select.value
      copy.style = 'position: absolute; field-sizing: content; inline-size: max-content; max-inline-size: none'
      const { width } = copy.getBoundingClientRect()
      copy.remove()
      return width - select.getBoundingClientRect().width
    })()`)
  const plain = await colorOf()
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 })
    for (const label of ['No clicks in 90 days', 'Ends within 7 days']) {
      await status.selectOption(label)
      const chosen = await colorOf()
      assert.notEqual(chosen, plain)
      assert.ok((await excess()) < 1, `${label} is cut at ${width}`)
      await page.waitForURL(/status=/)
      await page.reload()
      assert.equal(await colorOf(), chosen)
    }
  }
  await status.selectOption('Any status')
  assert.equal(await colorOf(), plain)
  await page.getByRole('combobox', { name: 'Tags' }).fill('print')
  assert.notEqual(await colorOf('tags'), plain)
})

test('the actions follow the box for all rows in tab order, and appear without moving a row', { skip }, async () => {
  const { page, complaints } = await visit('/app/links')
  const firstRow = page.getByRole('row').nth(1)
  const before = await firstRow.boundingBox()
  await page.getByLabel('All on this page').focus()
  await page.keyboard.press('Space')
  await page.getByText('8 selected').waitFor()
  assert.deepEqual(await firstRow.boundingBox(), before)
  await page.keyboard.press('Tab')
  assert.equal(await hasFocus(page.getByRole('button', { name: 'Move…' })), true)
  // The bar covers the links of the header.
  assert.equal(await page.locator('thead a').locator('visible=true').count(), 0)
  assert.equal(await page.getByRole('columnheader', { name: 'Clicks (30 days)' }).count(), 1)
  assert.deepEqual(await findings(page), [])
  assert.deepEqual(complaints, [])
})

test('without scripts, the actions precede the first row in tab order', { skip }, async () => {
  const { page } = await openWindow({ javaScriptEnabled: false })
  await signInByKey(app, page, '/app/links')
  const box = page.getByRole('checkbox', { name: /^Select / }).first()
  await box.check()
  await box.press('Shift+Tab')
  assert.equal(await hasFocus(page.getByRole('button', { name: /^Sort by/ })), true)
  await page.keyboard.press('Shift+Tab')
  assert.equal(await hasFocus(page.getByRole('button', { name: 'Delete', exact: true })), true)
})
