/** The dashboard with only the keyboard, and without scripts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startApp } from '../../test/app.ts'
import { browserForTests, shoot, signIn, signInByKey, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()

test('creates, finds, deletes and restores records with only the keyboard, whose shortcuts can be turned off, with a visible focus', {
  skip,
}, async () => {
  const app = await startApp()
  const { page, complaints } = await openWindow()
  await signIn(app, page)
  await enter(page, 'Skip to content')
  await enter(page, 'Add domain')
  await arrived(page, 'Add domain')
  await page.keyboard.type('localhost')
  await page.keyboard.press('Enter')
  await arrived(page, 'localhost')
  await page.keyboard.press('c')
  await arrived(page, 'New link')
  await page.keyboard.type('https://acme.com/summer')
  await tabTo(page, 'Alias')
  await page.keyboard.type('summer')
  await enter(page, 'Create link')
  await arrived(page, 'localhost:3080/summer')
  for (const [key, title] of [
    ['h', 'History'],
    ['l', 'Links'],
  ] as const) {
    await page.keyboard.press('g')
    await page.keyboard.press(key)
    await arrived(page, title)
  }
  await page.keyboard.press('/')
  assert.equal((await stopOf(page)).name, 'Search links')
  await page.keyboard.type('nothing like it')
  await page.getByRole('status').filter({ hasText: 'No links match “nothing like it”' }).waitFor()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.press('Delete')
  await page.getByRole('rowheader').waitFor()
  await deletesByMenu(page)
  await turnsShortcutsOff(page)
  assert.deepEqual(complaints, [])
})

test('has no shortcut for a new link unless the member can create links', { skip }, async () => {
  const { page, complaints } = await openWindow()
  await signIn(await startApp(), page, '/app', { role: 'viewer' })
  await page.getByText('Adding one needs the role admin.').waitFor()
  await page.keyboard.press('c')
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await dialog.waitFor()
  assert.doesNotMatch(await dialog.innerText(), /New link/)
  assert.equal(new URL(page.url()).pathname, '/app')
  assert.deepEqual(complaints, [])
})

/** `?` lists the shortcuts, which can be turned off. */
async function turnsShortcutsOff(page: Page): Promise<void> {
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await dialog.waitFor()
  assert.match(await dialog.innerText(), /Search[\s\S]*New link[\s\S]*History/)
  await shoot(page, 'keys')
  await dialog.getByLabel('Use keyboard shortcuts').uncheck()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  assert.equal(await dialog.count(), 0)
}

/** Deletes through the row menu, after closing the dialog once with Esc. */
async function deletesByMenu(page: Page): Promise<void> {
  const menu = 'Actions for localhost:3080/summer'
  await enter(page, menu)
  await page.keyboard.press('Escape')
  assert.equal((await stopOf(page)).name, menu)
  await page.keyboard.press('Enter')
  await enter(page, 'Delete')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.notEqual((await stopOf(page)).tag, 'BODY', 'the focus is lost')
  await tabTo(page, menu, 'Shift+Tab')
  await page.keyboard.press('Enter')
  await enter(page, 'Delete')
  await page.getByRole('dialog').waitFor()
  await enter(page, 'Delete localhost:3080/summer')
  await page.getByText('Deleted localhost:3080/summer').waitFor()
  await enter(page, 'Undo')
  await page.getByText('Change undone.').waitFor()
  await page.getByRole('rowheader').waitFor()
}

/** Returns the name of the focused element, and whether the focus is visible. */
interface Stop {
  readonly tag: string
  readonly name: string
  readonly isSeen: boolean
}

/** A parent element may show the focus ring. */
function stopOf(page: Page): Promise<Stop> {
  return page.evaluate(`(() => {
    const element = document.activeElement
    const label = element.labels?.[0] ?? element
    const name = (element.getAttribute('aria-label') ?? label.innerText ?? '').trim()
    const isRinged = (each) => each !== null && getComputedStyle(each).outlineStyle !== 'none' && parseFloat(getComputedStyle(each).outlineWidth) >= 2
    const after = getComputedStyle(element, '::after')
    const isSeen = isRinged(element) || isRinged(element.parentElement) || isRinged(element.closest('tr')) ||
      (after.outlineStyle !== 'none' && parseFloat(after.outlineWidth) >= 2)
    return { tag: element.tagName, name, isSeen }
  })()`)
}

/** Presses Tab until the named element is focused. Every stop must be visible. */
async function tabTo(page: Page, name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press(key)
    const stop = await stopOf(page)
    assert.ok(stop.isSeen || stop.tag === 'BODY', `the focus on ${stop.tag} "${stop.name}" cannot be seen`)
    if (stop.name === name) return
  }
  assert.fail(`Tab doesn't reach "${name}"`)
}

async function enter(page: Page, name: string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** Waits for the heading and the scripts of the page. */
async function arrived(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  await page.waitForLoadState('domcontentloaded')
}

test('without scripts, pages show no button that needs them, lists have a button that applies filters, and menus work', {
  skip,
}, async () => {
  const app = await startApp()
  const { stored } = app
  await stored('/domains', { name: 'localhost' })
  await stored('/links', { alias: 'summer', title: 'Sale', url: 'https://acme.com' })
  const { page, complaints, requests } = await openWindow({ javaScriptEnabled: false })
  await signInByKey(app, page, '/app/links')
  await arrived(page, 'Links')
  assert.equal(
    await page
      .getByRole('button', { name: /^Copy|Keyboard/ })
      .locator('visible=true')
      .count(),
    0,
  )
  await page.getByLabel('Select localhost:3080/summer').check()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('button', { name: 'Disable' }).locator('visible=true').click()
  await page.getByText('Disabled localhost:3080/summer').waitFor()
  await page.getByRole('searchbox').fill('sale')
  await page.getByLabel('Status').selectOption('Disabled')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/search=sale/)
  assert.equal(await page.getByRole('rowheader').count(), 1)
  const navigation = page.getByRole('navigation', { name: 'Main' })
  await navigation.getByRole('button', { name: /: menu$/ }).click()
  assert.equal(await navigation.getByRole('button', { name: 'Keyboard shortcuts' }).isVisible(), false)
  const { x = -1, y = -1, width = 0, height = 0 } = (await page.locator('#person').boundingBox()) ?? {}
  assert.ok(x >= 0 && y >= 0 && x + width <= 1280 && y + height <= 800, `at ${x}, ${y}`)
  await navigation.getByRole('button', { name: 'Dark' }).click()
  await page.locator('html[data-scheme="dark"]').waitFor()
  await navigation.getByRole('button', { name: /: menu$/ }).click()
  await navigation.getByRole('link', { name: 'Profile' }).click()
  await arrived(page, 'Profile')
  assert.deepEqual(complaints, [])
  assert.equal(requests.filter(({ pathname }) => pathname.endsWith('.js')).length, 0)
})
