/** The period menu in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserForTests, demoApp, hasFocus, phone, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()

test('selecting a period does not move the period menu', { skip }, async () => {
  const app = await demoApp()
  const { page } = await openWindow()
  await signIn(app, page)
  const tabs = page.getByRole('navigation', { name: 'Period' }).getByRole('link')
  const places = async () => Promise.all((await tabs.all()).map(async (tab) => (await tab.boundingBox())?.x))
  const before = await places()
  await tabs.first().click()
  await page.waitForURL(/period=2d/)
  assert.deepEqual(await places(), before)
})

test('custom dates open above the page without moving it; rejected dates stay as typed', {
  skip,
}, async () => {
  const app = await demoApp()
  for (const options of [{}, phone()]) {
    const { page, complaints } = await openWindow(options)
    await signIn(app, page)
    const figures = page.getByRole('term').first()
    const top = (await figures.boundingBox())?.y
    const button = page.getByRole('button', { name: /^Other days/ })
    await button.click()
    await page.getByLabel('From', { exact: true }).fill('2026-02-02')
    assert.equal((await figures.boundingBox())?.y, top)
    await page.keyboard.press('Escape')
    assert.equal(await hasFocus(button), true)
    await button.click()
    await page.getByLabel('To', { exact: true }).fill('2026-02-01')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText('The to date must not be before the from date.').waitFor()
    assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), '2026-02-02')
    assert.equal(await hasFocus(page.getByLabel('To', { exact: true })), true)
    assert.deepEqual(complaints, [])
  }
})
