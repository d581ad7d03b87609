/** The life of a first link on a desktop, and lists, color schemes and sessions on a phone, in a real browser. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startApp, type TestApp } from '../../test/app.ts'
import { browserForTests, hasFocus, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'
import { loginToken } from '../../test/members.ts'
import { eventually } from '../../test/processes.ts'
import { listenOn } from '../../test/servers.ts'
import { signInUrl } from '../sessions/token.ts'

const openWindow = browserForTests()

type Shot = (step: string) => Promise<void>

test('a desktop creates, visits, counts and changes a link', { skip }, async () => {
  const app = await startApp()
  const { page, complaints } = await openWindow({
    reducedMotion: 'no-preference',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const shot = (step: string) => shoot(page, `1280-light-${step}`)
  await signsInOnce(app, page)
  await shot('1-welcome')
  await makesDomain(page)
  await shot('2-domain')
  const site = await startSite()
  await makesLink(page, `${site}/target`)
  await shot('3-link')
  await followsLink(app, page, `${site}/target`)
  await shot('4-clicked')
  await savesIt(page, site)
  await collides(app, page, site)
  await shot('6-collision')
  await opensDialog(page, shot)
  assert.deepEqual(complaints, [])
})

/** Opens a sign-in link, as `waymark login-link` prints it. */
async function signsInOnce({ origin, storage, account }: TestApp, page: Page): Promise<void> {
  await page.goto(signInUrl(origin, await loginToken(storage, account)))
  await page.getByRole('heading', { level: 1, name: 'Welcome' }).waitFor()
  const visited = await page.evaluate<string[]>('navigation.entries().map(({ url }) => url)')
  assert.ok(visited.length > 0)
  for (const url of visited) assert.doesNotMatch(url, /wml_/, 'the token is in the history')
}

async function makesDomain(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Add domain' }).click()
  await page.getByLabel('Host name').fill('localhost')
  await page.getByRole('button', { name: 'Add domain' }).click()
  await page.getByRole('heading', { level: 1, name: 'localhost' }).waitFor()
  assert.match(await page.getByRole('status').first().innerText(), /^Added localhost\./)
  assert.equal(await page.getByText('Only this machine reaches localhost').count(), 1)
}

async function makesLink(page: Page, target: string): Promise<void> {
  await page.getByRole('link', { name: 'New link' }).click()
  await page.waitForURL('**/app/links/new**')
  await page.locator('[name=url]:focus').waitFor()
  await page.keyboard.type(target)
  await page.getByLabel('Alias').fill('Summer')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.waitForURL('**/app/links/1')
  await page.getByText('The short link is copied.').first().waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'http://localhost:3080/Summer')
  assert.equal(await page.getByRole('link', { name: 'Create another' }).count(), 1)
  assert.equal(await page.title(), '/Summer on localhost:3080 · Waymark')
  const code = page.getByRole('img', { name: 'QR code for http://localhost:3080/Summer' })
  await code.scrollIntoViewIfNeeded()
  await eventually(() => code.evaluate(({ naturalWidth }: { naturalWidth: number }) => naturalWidth > 0))
}

/** Visits the link in another window and checks the link page. */
async function followsLink({ visitPort }: TestApp, page: Page, target: string): Promise<void> {
  const visitor = await page.context().newPage()
  await visitor.goto(`http://localhost:${visitPort}/summer`)
  assert.equal(visitor.url(), target)
  await visitor.close()
  // The chart appears without a reload and responds to keys.
  await page.getByRole('slider', { name: /: 1 click\./ }).waitFor()
  const figure = page.getByRole('term').filter({ hasText: /^Clicks$/ })
  assert.match(await figure.locator('xpath=following-sibling::dd').innerText(), /^1\b/)
  const last = page.getByRole('term').filter({ hasText: 'Last click' })
  // The page may have read the link before the click was written, and its statistics after that.
  await eventually(async () => /ago|just now/.test(await last.locator('xpath=following-sibling::dd').innerText()))
}

async function savesIt(page: Page, site: string): Promise<void> {
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Destination', exact: true }).fill(`${site}/winter`)
  await page.getByLabel('Alias').fill('Winter')
  await page.locator('summary', { hasText: /^Campaign/ }).click()
  await page.getByLabel('Source').fill('flyer')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Changed /).waitFor()
  assert.equal(await page.getByRole('link', { name: `${site}/winter?utm_source=flyer` }).count(), 1)
}

/** A conflict: the page shows both values, and saving again keeps the input. */
async function collides(app: TestApp, page: Page, site: string): Promise<void> {
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByLabel('Alias').waitFor()
  const other = await app.send('PATCH', '/api/v1/links/1', { json: { title: 'Theirs' } })
  assert.equal(other.status, 200, other.text)
  await page.locator('summary', { hasText: /^Name/ }).click()
  await page.getByLabel('Title').fill('Mine')
  await page.getByRole('button', { name: 'Save' }).click()
  const alert = page.getByRole('alert')
  await alert.waitFor()
  await eventually(() => hasFocus(alert))
  assert.match(await alert.innerText(), /changed while you were editing[\s\S]*Mine[\s\S]*Theirs/)
  assert.equal(await page.getByLabel('Title').inputValue(), 'Mine')
  const target = page.getByRole('textbox', { name: 'Destination', exact: true })
  assert.equal(await target.inputValue(), `${site}/winter?utm_source=flyer`)
}

/** After a dialog, the focus is where it was. */
async function opensDialog(page: Page, shot: Shot): Promise<void> {
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Changed /).waitFor()
  const menu = page.getByRole('button', { name: 'More actions' })
  await menu.click()
  await page.locator('.menu:popover-open').getByRole('link', { name: 'Delete link' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete localhost:3080/Winter?' })
  await dialog.getByText('The link has 1 click.').waitFor()
  await shot('7-dialog')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await eventually(() => hasFocus(menu))
}

/** A destination site. */
async function startSite(): Promise<string> {
  const server = createServer((_request, response) => void response.end('Here.'))
  return `http://127.0.0.1:${await listenOn({ after }, server)}`
}

test('a phone searches lists, keeps the color scheme, and ends a session', { skip }, async () => {
  const app = await startApp()
  const { stored } = app
  await stored('/domains', { name: 'go.acme.com' })
  for (const alias of ['spring', 'summer', 'autumn', 'winter'])
    await stored('/links', { alias, url: `https://acme.com/${alias}`, disabled: /mer|winter/.test(alias) })
  const { page, complaints } = await openWindow({ colorScheme: 'dark', ...phone() })
  const shot = (step: string) => shoot(page, `390-dark-${step}`)
  await signIn(app, page, '/app/links')
  await searches(page, shot)
  await choosesScheme(page)
  await signsOut(app, page)
  assert.deepEqual(complaints, [])
})

/** The URL follows the search and filters; back and reload restore the list. */
async function searches(page: Page, shot: Shot): Promise<void> {
  const rows = page.getByRole('rowheader')
  const search = page.getByRole('searchbox', { name: 'Search links' })
  await search.pressSequentially('summer')
  await page.waitForURL('**/app/links?search=summer')
  await rows.nth(1).waitFor({ state: 'detached' })
  assert.equal(await hasFocus(search), true)
  await search.fill('')
  await page.getByLabel('Status').selectOption('Disabled')
  await page.waitForURL('**/app/links?status=disabled')
  await rows.nth(2).waitFor({ state: 'detached' })
  await shot('filtered')
  await page.getByRole('link', { name: 'go.acme.com:3080/winter' }).click()
  await page.getByRole('heading', { level: 1, name: /winter/ }).waitFor()
  await opensQrCode(page)
  await page.goBack()
  await page.goBack()
  assert.match(page.url(), /status=disabled$/)
  assert.equal(await rows.count(), 2)
  await page.reload()
  assert.equal(await rows.count(), 2)
  assert.equal(await page.getByLabel('Status').inputValue(), 'disabled')
  await page.getByRole('link', { name: 'Clear all' }).click()
  await page.waitForURL('**/app/links')
  assert.equal(await rows.count(), 4)
}

/** On a phone, clicks come before the QR code, which a link opens. */
async function opensQrCode(page: Page): Promise<void> {
  const code = page.getByRole('img', { name: /^QR code/ })
  assert.equal(await code.isVisible(), false)
  await page.evaluate('location.hash = "qr"')
  await code.waitFor()
}

async function choosesScheme(page: Page): Promise<void> {
  for (const [button, scheme] of [
    ['Dark', 'dark'],
    ['Light', 'light'],
  ] as const) {
    await press(page, button)
    await page.locator(`html[data-scheme="${scheme}"]`).waitFor()
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

/** Presses a button in the menu. */
async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Menu', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).getByRole('button', { name, exact: true }).click()
}
