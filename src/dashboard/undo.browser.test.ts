/** Undo in a browser: the offer follows people for its minute, without moving the pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserForTests, demoApp, phone, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()
/** Each test deletes another link. */
const app = await demoApp()

/** Returns where the heading and the content begin. */
async function layout(page: Page): Promise<unknown> {
  const boxes = ['h1', '.content'].map(async (part) => (await page.locator(part).first().boundingBox())?.y)
  return Promise.all(boxes)
}

async function keepsOffer(page: Page, link: number, usual: unknown): Promise<void> {
  await page.goto(`${app.origin}/app/links/${link}/delete`)
  await page.getByRole('button', { name: /^Delete / }).click()
  await page.getByText(/^Deleted /).waitFor()
  await page.goto(`${app.origin}/app/links`)
  assert.equal(await page.evaluate(isUndoOnTop), true, 'the table covers the offer')
  await page.goto(`${app.origin}/app/spaces`)
  await page.getByRole('button', { name: 'Undo' }).waitFor()
  assert.deepEqual(await layout(page), usual, 'the offer moves the page')
}

/** Scrolls down, and returns whether the first button of the offer can be pressed. */
const isUndoOnTop = `(() => {
  scrollTo(0, 800)
  const button = document.querySelector('.notices button')
  const { x, y, width, height } = button.getBoundingClientRect()
  return scrollY > 0 && document.elementFromPoint(x + width / 2, y + height / 2) === button
})()`

/** Returns whether no notice covers or touches the title. */
const isTitleFree = `(() => {
  const title = document.querySelector('h1')
  const { x, y, height, bottom } = title.getBoundingClientRect()
  const notices = [...document.querySelectorAll('.notices .notice')].map((notice) => notice.getBoundingClientRect())
  return notices.every((box) => (box.top >= 8 && box.bottom + 8 <= y)) && [y + 1, y + height - 1].every((at) => title.contains(document.elementFromPoint(x + 5, at)))
})()`

for (const [link, name, options] of [
  [2, 'on a desktop', {}],
  [4, 'on a narrow phone without scripts', { ...phone(320), javaScriptEnabled: false }],
] as const) {
  test(`an offer to undo stays on the next page, moves nothing, and can be used or dismissed, ${name}`, {
    skip,
  }, async () => {
    const { page, complaints } = await openWindow(options)
    await signIn(app, page, '/app/spaces')
    const usual = await layout(page)
    await keepsOffer(page, link, usual)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Change undone.').waitFor()
    assert.equal(new URL(page.url()).pathname, '/app/spaces')
    await keepsOffer(page, link, usual)
    await page.getByRole('link', { name: 'New space' }).click()
    await page.getByLabel('Name').fill(`Fair ${link}`)
    await page.getByRole('button', { name: 'Create space' }).click()
    await page.getByText(/^Created the space Fair/).waitFor()
    assert.equal(await page.evaluate(isTitleFree), true, 'the notices cover or touch the title')
    const dismissed = page.waitForResponse('**/app/dismiss')
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await dismissed
    // The page of the space has a button for its creation, too.
    await page.locator('.notices .notice').waitFor({ state: 'detached' })
    await page.goto(`${app.origin}/app/spaces`)
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    assert.deepEqual(complaints, [])
  })
}
