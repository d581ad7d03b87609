/** Scripts of the dashboard in a real browser: copying, forms, row menus and local times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Request } from 'playwright-core'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { browserForTests, hasFocus, signIn, skip } from '../../test/dashboard-browser.ts'
import { addClicks, dayWith } from '../../test/days.ts'
import { eventually } from '../../test/processes.ts'

const openWindow = browserForTests()
const app = await startApp()
const { stored } = app
await stored('/domains', { name: 'go.acme.com' })
for (const alias of ['spring', 'summer', 'winter']) await stored('/links', { alias, url: `https://acme.com/${alias}` })

async function visit(path: string, options: BrowserContextOptions = {}) {
  const opened = await openWindow(options)
  await signIn(app, opened.page, path)
  const target = opened.page.getByRole('textbox', { name: 'Destination', exact: true })
  return { ...opened, target }
}

/** Returns the newest link, and deletes it. */
async function takeNewest(): Promise<Json> {
  const [newest] = (await app.send('GET', '/api/v1/links')).body.data
  assert.equal((await app.send('DELETE', `/api/v1/links/${newest.id}`)).status, 204)
  return newest
}

test('copies the short link, and confirms it on the button', { skip }, async () => {
  const { page } = await visit('/app/links', { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByRole('button', { name: 'Copy the short link' }).first().click()
  await page.getByText('Copied').and(page.locator(':visible')).first().waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'http://go.acme.com:3080/winter')
  await eventually(async () => (await page.locator('.announcer').textContent()) === 'Copied')
})

test('focuses the Copy button of a new link if the browser does not allow copying', { skip }, async () => {
  const { page, target } = await visit('/app/links/new')
  // Like Firefox, which requires a key or a click on the page.
  await page.addInitScript(
    'navigator.clipboard.writeText = () => Promise.reject(new DOMException("", "NotAllowedError"))',
  )
  await target.fill('https://acme.com/refused')
  await target.press('Enter')
  await page.getByText(/^Created /).waitFor()
  const button = page.getByRole('button', { name: 'Copy', exact: true })
  await eventually(() => hasFocus(button))
  assert.equal(await page.getByText('is copied').count(), 0)
  await takeNewest()
})

test('asks before leaving a form with changes, but not after they are reverted', { skip }, async () => {
  const { page, target, complaints } = await visit('/app/links/new')
  const cancel = page.getByRole('link', { name: 'Cancel' })
  await target.pressSequentially('https://acme.com')
  const asked = page.waitForEvent('dialog')
  const leaving = cancel.click({ noWaitAfter: true })
  await (await asked).dismiss()
  await leaving
  assert.equal(await target.inputValue(), 'https://acme.com')
  await target.fill('')
  await cancel.click()
  await page.waitForURL('**/app/links')
  assert.deepEqual(complaints, [])
})

test('adds https to a URL on blur and on submit, and keeps it in step with the campaign fields', { skip }, async () => {
  const { page, target, complaints } = await visit('/app/links/new')
  await target.fill('localhost:3000')
  await target.blur()
  assert.equal(await target.inputValue(), 'localhost:3000')
  await target.fill('')
  await page.locator('summary', { hasText: /^Campaign/ }).click()
  const [source, medium] = [page.getByLabel('Source'), page.getByLabel('Medium')]
  await source.fill('spring mail')
  assert.equal(await target.inputValue(), '')
  await target.pressSequentially('acme.com/?utm_medium=sms#top')
  assert.deepEqual([await source.inputValue(), await medium.inputValue()], ['spring mail', 'sms'])
  await target.blur()
  assert.equal(await target.inputValue(), 'https://acme.com/?utm_medium=sms&utm_source=spring%20mail#top')
  await medium.fill('')
  assert.equal(await target.inputValue(), 'https://acme.com/?utm_source=spring%20mail#top')
  await target.fill('acme.com/winter')
  assert.equal(await source.inputValue(), '')
  await target.press('Enter')
  await page.waitForURL(/links\/\d+$/)
  assert.equal((await takeNewest()).url, 'https://acme.com/winter')
  assert.deepEqual(complaints, [])
})

test('selects rows, ranges with Shift, and all rows; row menus have their own forms', { skip }, async () => {
  const { page } = await visit('/app/links')
  const box = (alias: string) => page.getByLabel(`Select go.acme.com:3080/${alias}`)
  await box('summer').check()
  await page.getByText('1 selected').waitFor()
  const all = page.getByLabel('All on this page')
  await all.check()
  await page.getByText('3 selected').waitFor()
  await all.uncheck()
  await box('winter').check()
  await box('spring').click({ modifiers: ['Shift'] })
  await page.getByText('3 selected').waitFor()
  assert.equal(await page.evaluate('getSelection().toString()'), '')
  await box('summer').press('Shift+Space')
  await page.getByText('1 selected').waitFor()
  assert.equal(await box('winter').isChecked(), true)
  await page.getByRole('button', { name: 'Actions for go.acme.com:3080/summer' }).click()
  await page.locator('.menu:popover-open').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled go.acme.com:3080/summer').waitFor()
})

test('opens collapsed sections with errors, and focuses the first invalid field', { skip }, async () => {
  const { page, target } = await visit('/app/links/new')
  await target.fill('//acme.com')
  await page.locator('summary', { hasText: /^Dates/ }).click()
  await page.getByLabel('Click limit').fill('0')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.getByText('Destination” must be a complete URL').first().waitFor()
  await eventually(() => hasFocus(target))
  assert.equal(await page.getByLabel('Click limit').isVisible(), true)
})

test('shows and edits times in the time zone of the person, and stores them in UTC', { skip }, async () => {
  const at = { active_period_start_at: '2026-01-02T03:04:05.678Z', active_period_end_at: '2026-01-03T03:00:00Z' }
  const changed = await app.send('PATCH', '/api/v1/links/1', { json: at })
  assert.equal(changed.status, 200, changed.text)
  const { page, complaints } = await visit('/app/profile')
  await page.getByLabel('Time zone').selectOption('America/New_York')
  await page.getByRole('button', { name: 'Save profile' }).click()
  await page.getByText('Profile saved').waitFor()
  await page.goto(`${app.origin}/app/links/1`)
  await page.getByText('Expired on Jan 2, 2026: visitors see the page “This link has expired”.').waitFor()
  const stored = async () => (await app.send('GET', '/api/v1/links/1')).body.data
  const open = async () => {
    await page.goto(`${app.origin}/app/links/1/edit`)
    await page.locator('summary', { hasText: /^Dates/ }).click()
  }
  await open()
  const [starts, stops] = ['Starts', 'Stops'].map((word) => page.getByLabel(`${word} working on (America/New_York)`))
  assert.equal(await starts?.inputValue(), '2026-01-01T22:04:05.678')
  assert.equal(await stops?.inputValue(), '2026-01-02T22:00')
  await stops?.fill('2090-07-02T09:30')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^(Set|Changed|Removed) the end of /).waitFor()
  const { active_period_start_at, active_period_end_at } = await stored()
  assert.deepEqual(
    [active_period_start_at, active_period_end_at],
    [at.active_period_start_at, '2090-07-02T13:30:00.000Z'],
  )
  const told = page.getByRole('term').filter({ hasText: 'Stops working on' })
  assert.match(
    await told.locator('xpath=following-sibling::dd').first().innerText(),
    /^Jul 2, 2090, 09:30 (?:GMT-4|EDT)$/,
  )
  await open()
  // An incomplete date: the field has no value but is not empty.
  await stops?.press('Delete')
  assert.equal(await stops?.inputValue(), '')
  await page.getByRole('button', { name: 'Save' }).click()
  assert.ok(page.url().endsWith('/edit'))
  assert.equal((await stored()).active_period_end_at, '2090-07-02T13:30:00.000Z')
  page.once('dialog', (dialog) => dialog.accept())
  await open()
  await stops?.fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^(Set|Changed|Removed) the end of /).waitFor()
  assert.equal((await stored()).active_period_end_at, null)
  await open()
  await stops?.fill('12026-11-22T10:00')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('[aria-invalid="true"]').waitFor()
  assert.equal(await stops?.inputValue(), '12026-11-22T10:00')
  assert.equal((await stored()).active_period_end_at, null)
  assert.deepEqual(complaints, [])
})

test('statistics are refreshed every ten seconds, unless the page is hidden or in use', { skip }, async () => {
  const { page, context, complaints } = await visit('/app/about')
  const click = async () => {
    const [day, hour] = [Math.floor(Date.now() / 86_400_000), new Date().getUTCHours()]
    await addClicks(app.storage, 2, day, dayWith([{ hour, kind: 'people', isFirst: true }]))
  }
  await click()
  const isRefresh = (request: Request) => request.headers()['x-refresh'] === '1'
  const statuses: number[] = []
  let asked = 0
  page.on('request', (request) => {
    if (isRefresh(request)) asked += 1
  })
  page.on('response', (response) => {
    if (isRefresh(response.request())) statuses.push(response.status())
  })
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await page.goto(`${app.origin}/app/links/2`)
  const clicks = page.locator('.figure').first()
  const after = async (ms: number) => {
    const count = statuses.length
    await page.clock.runFor(ms)
    await eventually(() => Promise.resolve(statuses.length > count))
  }
  const isQuiet = async () => {
    const count = asked
    await page.clock.runFor(30_000)
    // A refresh would be sent before this request.
    await page.evaluate('fetch("/app/about").then((answer) => answer.text())')
    return asked === count
  }

  // Expanded sections and the focus stay.
  await page.locator('.chart-table summary').click()
  await page.locator('.uncounted summary').click()
  const tab = page.getByRole('link', { name: '7 days' })
  await tab.focus()
  await click()
  await after(10_000)
  await clicks.filter({ hasText: /^2$/ }).waitFor()
  assert.deepEqual([await page.locator('details[open]').count(), await hasFocus(tab)], [2, true])
  await page.getByRole('slider', { name: /: 2 clicks\./ }).waitFor()
  assert.equal(await page.locator('.announcer').count(), 0)

  await after(10_000)
  await after(10_000)
  assert.equal(statuses.at(-1), 304, 'an unchanged page has no body')

  await click()
  await page.getByRole('slider').focus()
  assert.ok(await isQuiet(), 'somebody reads the chart')
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: /^Compare/ }).click()
  assert.ok(await isQuiet(), 'a menu is open')
  await page.keyboard.press('Escape')
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('.figures'))")
  assert.ok(await isQuiet(), 'text is selected')
  await page.evaluate('getSelection().removeAllRanges()')
  await page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, value: true })")
  assert.ok(await isQuiet(), 'the page is hidden')
  assert.equal(await clicks.textContent(), '2')
  await page.evaluate("delete document.hidden, document.dispatchEvent(new Event('visibilitychange'))")
  await clicks.filter({ hasText: /^3$/ }).waitFor()

  await page.goto(`${app.origin}/app/links/2?from=2026-01-01&to=2026-01-31`)
  assert.ok(await isQuiet(), 'the period is over')
  await page.goto(`${app.origin}/app/links/compare?ids=2`)
  await click()
  await after(10_000)
  await page.getByRole('cell', { name: '4', exact: true }).first().waitFor()
  await context.clearCookies()
  await after(10_000)
  assert.ok(await isQuiet(), 'the session has ended')
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Compare 1 link')
  assert.deepEqual(complaints, [])
})

test('keeps a form’s text when it is saved without a connection, once, and without its password', {
  skip,
}, async () => {
  const { page, context, target } = await visit('/app/links/new?space_id=')
  await target.fill('https://acme.com/offline')
  await page.evaluate("for (const fold of document.querySelectorAll('main details')) fold.open = true")
  await page.getByLabel('Notes').fill('Written on a train')
  await page.getByLabel('Password', { exact: true }).fill('secret words')
  await context.setOffline(true)
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.waitForURL('chrome-error://**')
  await context.setOffline(false)
  await page.goBack()
  await page.getByText('The last changes were not saved. The form has them again.').waitFor()
  assert.equal(await target.inputValue(), 'https://acme.com/offline')
  assert.equal(await page.getByLabel('Notes').inputValue(), 'Written on a train')
  assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page
    .getByText(/^Created /)
    .first()
    .waitFor()
  assert.equal(await page.evaluate('sessionStorage.length'), 0)
  assert.equal((await takeNewest()).notes, 'Written on a train')
  await page.goto(`${app.origin}/app/links/new?space_id=`)
  assert.equal(await target.inputValue(), '')
  // A rejected form has its values from the server.
  await target.fill('nope nope')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.locator('[aria-invalid]').waitFor()
  assert.equal(await page.evaluate('sessionStorage.length'), 0)
})
