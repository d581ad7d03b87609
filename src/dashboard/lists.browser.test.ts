/** Lists, color schemes and sessions in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startApp, type TestApp } from '../../test/app.ts'
import {
  browserForTests,
  goTo,
  hasFocus,
  screens,
  shoot,
  signIn,
  skip,
  storedIn,
} from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()

for (const { name, options } of screens) {
  test(`${name}: searches and changes lists, keeps the color scheme, and ends a session`, {
    skip,
  }, async () => {
    const app = await startApp()
    const stored = storedIn(app)
    await stored('/domains', { name: 'go.acme.com' })
    for (const alias of ['spring', 'summer', 'autumn', 'winter'])
      await stored('/links', { alias, url: `https://acme.com/${alias}` })
    const { page, complaints } = await openWindow(options)
    const shot = (step: string) => shoot(page, `${name}-${step}`)
    await signIn(app, page)
    await disablesTwo(page, shot)
    await searches(page, shot)
    await choosesScheme(page)
    await signsOut(app, page)
    assert.deepEqual(complaints, [])
  })
}

type Shot = (step: string) => Promise<void>

async function disablesTwo(page: Page, shot: Shot): Promise<void> {
  await goTo(page, 'Links')
  await select(page, 'summer', 'winter')
  await page.getByText('2 selected').waitFor()
  await shot('selected')
  await openActions(page)
  await page.getByRole('button', { name: 'Disable' }).first().click()
  await page.getByText('2 links are disabled').waitFor()
  assert.equal(await page.getByText('Disabled', { exact: true }).locator('visible=true').count(), 2)
}

/** Presses a button of the selection bar, which phones show as a menu. */
async function openActions(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Actions', exact: true })
  if (await button.isVisible()) await button.click()
}

/** The URL follows the search and filters; back and reload restore the list. */
async function searches(page: Page, shot: Shot): Promise<void> {
  const rows = page.getByRole('rowheader')
  const search = page.getByRole('searchbox', { name: 'Search links' })
  await search.pressSequentially('summer')
  await page.waitForURL('**/app/links?search=summer')
  await page.waitForFunction('document.querySelectorAll("tbody tr").length === 1')
  assert.equal(await hasFocus(search), true)
  await search.fill('')
  await page.getByLabel('State').selectOption('Disabled')
  await page.waitForURL('**/app/links?status=disabled')
  await page.waitForFunction('document.querySelectorAll("tbody tr").length === 2')
  await shot('filtered')
  await page.getByRole('link', { name: 'go.acme.com:3080/winter' }).click()
  await page.getByRole('heading', { level: 1, name: /winter/ }).waitFor()
  await page.goBack()
  assert.match(page.url(), /status=disabled$/)
  assert.equal(await rows.count(), 2)
  await page.reload()
  assert.equal(await rows.count(), 2)
  assert.equal(await page.getByLabel('State').inputValue(), 'disabled')
  await page.getByRole('link', { name: 'Clear all' }).click()
  await page.waitForURL('**/app/links')
  assert.equal(await rows.count(), 4)
}

async function choosesScheme(page: Page): Promise<void> {
  for (const [button, scheme] of [
    ['Dark', 'dark'],
    ['Light', 'light'],
  ] as const) {
    await press(page, button)
    await page.waitForFunction(`document.documentElement.dataset.scheme === '${scheme}'`)
    await page.reload()
    assert.equal(await page.evaluate('getComputedStyle(document.body).colorScheme'), scheme)
  }
}

async function signsOut({ origin }: TestApp, page: Page): Promise<void> {
  await press(page, 'Sign out')
  await page.waitForURL('**/app/sign-in')
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
  assert.equal(await page.getByText('winter').count(), 0)
  const { url, status } = await page.evaluate<{ url: string; status: number }>(
    'fetch("/app/links").then(({ url, status }) => ({ url, status }))',
  )
  assert.deepEqual([url, status], [`${origin}/app/sign-in?next=%2Fapp%2Flinks`, 200])
}

/** Presses a button in the navigation, which phones show as a menu. */
async function press(page: Page, name: string): Promise<void> {
  const button = page.getByRole('navigation', { name: 'Main' }).getByRole('button', { name, exact: true })
  if (!(await button.isVisible())) await page.getByRole('button', { name: 'Menu', exact: true }).click()
  await button.click()
}

async function select(page: Page, ...aliases: readonly string[]): Promise<void> {
  for (const alias of aliases) await page.getByLabel(`Select go.acme.com:3080/${alias}`).check()
}
