/** Inviting someone and joining, with the keyboard, on a phone and on a desktop, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { startApp } from '../../test/app.ts'
import { browserForTests, findings, hasFocus, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()
const app = await startApp()

async function assertFits(page: Page, width: number): Promise<void> {
  assert.deepEqual(await findings(page), [], page.url())
  assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width, page.url())
}

const screens: readonly (readonly [number, BrowserContextOptions])[] = [
  [390, { ...phone(), colorScheme: 'dark' }],
  [1280, { permissions: ['clipboard-read', 'clipboard-write'] }],
]

for (const [width, options] of screens) {
  test(`at ${width} pixels, an owner copies an invitation, whose link joins`, { skip }, async () => {
    const { page, complaints } = await openWindow(options)
    await signIn(app, page, '/app/people/invite')
    assert.equal(await hasFocus(page.getByLabel('Name (optional)')), true)
    await page.keyboard.type('Ben')
    await page.getByRole('radio', { name: /^Viewer/ }).check()
    await assertFits(page, width)
    await page.getByRole('radio', { name: /^Viewer/ }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Invitation for Ben' }).waitFor()
    await assertFits(page, width)
    await shoot(page, `${width}-invitation`)
    const copy = page.getByRole('button', { name: 'Copy link' })
    await copy.focus()
    await page.keyboard.press('Enter')
    await page.locator('[data-copied]').waitFor()
    const link = (await copy.getAttribute('data-copy')) ?? ''
    assert.match(link, /\/app\/join#wmi_[\w-]{43}$/)
    if (width === 1280) assert.equal(await page.evaluate('navigator.clipboard.readText()'), link)

    const { page: invited, complaints: others, requests } = await openWindow(options)
    await invited.goto(link)
    await invited.getByText('Ana invites you to the account Acme as viewer.').waitFor()
    assert.equal(new URL(invited.url()).pathname + new URL(invited.url()).hash, '/app/join')
    assert.ok(requests.every(({ href }) => !href.includes('wmi_') || href === link))
    assert.equal(await invited.getByLabel('Your name').inputValue(), 'Ben')
    await assertFits(invited, width)
    await shoot(invited, `${width}-join`)
    assert.deepEqual([complaints, others], [[], []])
  })
}

test('without scripts, the pasted link joins', { skip }, async () => {
  const { page } = await openWindow()
  await signIn(app, page, '/app/people/invite')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = await page.getByRole('button', { name: 'Copy link' }).getAttribute('data-copy')
  const { page: invited } = await openWindow({ ...phone(), javaScriptEnabled: false })
  await invited.goto(String(link))
  await invited.getByLabel('Invitation link').fill(String(link))
  await invited.getByRole('button', { name: 'Continue' }).click()
  await invited.getByLabel('Your name').fill('Cleo')
  await invited.getByRole('button', { name: 'Join' }).click()
  await invited.getByText('Welcome. You can now see this account.').waitFor()
})

test('forms use the time zone of the browser from the second page on, and name it', { skip }, async () => {
  const { page } = await openWindow({ timezoneId: 'America/New_York' })
  const isStored = page.waitForResponse((response) => response.url().endsWith('/app/profile/time-zone'))
  await signIn(app, page)
  await isStored
  await page.goto(`${app.origin}/app/profile`)
  assert.equal(await page.getByLabel('Time zone').inputValue(), 'America/New_York')
})
