/** Undo in a browser: the offer follows people for its minute, without moving the pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { browserForTests, demoApp, phone, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()

/** Returns where the heading and the content begin. */
async function layout(page: Page): Promise<unknown> {
  const boxes = ['h1', '.content'].map(async (part) => (await page.locator(part).first().boundingBox())?.y)
  return Promise.all(boxes)
}

async function keepsOffer(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/app/spaces`)
  const before = await layout(page)
  await page.goto(`${origin}/app/links/2/delete`)
  await page.getByRole('button', { name: /^Delete / }).click()
  await page.getByText(/ deleted\./).waitFor()
  await page.goto(`${origin}/app/links`)
  assert.equal(await page.evaluate(isUndoOnTop), true, 'the table covers the offer')
  await page.goto(`${origin}/app/spaces`)
  await page.getByRole('button', { name: 'Undo' }).waitFor()
  assert.deepEqual(await layout(page), before, 'the offer moves the page')
}

/** Scrolls down, and returns whether the first button of the offer can be pressed. */
const isUndoOnTop = `(() => {
  scrollTo(0, 800)
  const button = document.querySelector('.notices button')
  const { x, y, width, height } = button.getBoundingClientRect()
  return scrollY > 0 && document.elementFromPoint(x + width / 2, y + height / 2) === button
})()`

for (const [name, options] of [
  ['on a desktop', {}],
  ['on a phone', phone()],
  ['on a narrow phone without scripts', { ...phone(320), javaScriptEnabled: false }],
] as const) {
  test(`an offer to undo stays on the next page, moves nothing, and can be used or dismissed, ${name}`, {
    skip,
  }, async () => {
    const app = await demoApp()
    const { page, complaints } = await openWindow(options)
    if (name.includes('without scripts')) {
      await page.goto(`${app.origin}/app`)
      await page.getByText('Use an API key').click()
      await page.getByLabel('API key').fill(app.key)
      await page.getByRole('button', { name: 'Sign in with API key' }).click()
    } else await signIn(app, page)
    await keepsOffer(page, app.origin)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText(/ restored\./).waitFor()
    assert.equal(new URL(page.url()).pathname, '/app/spaces')
    await keepsOffer(page, app.origin)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' })
    await page.goto(`${app.origin}/app/spaces`)
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    assert.deepEqual(complaints, [])
  })
}

test('a domain is deleted in a dialog after its name is typed, and undo brings it back', { skip }, async () => {
  const app = await demoApp()
  const { page, complaints } = await openWindow()
  await signIn(app, page)
  await page.goto(`${app.origin}/app/domains/1`)
  const name = await page.locator('h1').innerText()
  await page.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('link', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: /^Delete .* links\?$/ })
  await dialog.getByText(/It had [\d,]+ clicks in the last 30 days, the last /).waitFor()
  const field = dialog.getByLabel(`Type ${name} to confirm`)
  await field.fill('something else')
  await dialog.getByRole('button', { name: `Delete ${name}` }).click()
  await page.getByText(`Type ${name} to delete it.`).waitFor()
  await page.getByLabel(`Type ${name} to confirm`).fill(name)
  await page.getByRole('button', { name: `Delete ${name}` }).click()
  await page.getByText(`${name} deleted.`).waitFor()
  await page.goto(`${app.origin}/app/spaces`)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText(`${name} restored.`).waitFor()
  await page.goto(`${app.origin}/app/domains/1`)
  assert.equal(await page.locator('h1').innerText(), name)
  assert.deepEqual(complaints, [])
})

test('moving more links than a page shows takes six clicks, and one more undoes it', { skip }, async () => {
  const app = await demoApp()
  const { page, complaints } = await openWindow()
  await signIn(app, page)
  await page.goto(`${app.origin}/app/links`)
  let clicks = 0
  const click = async (target: Locator) => {
    clicks += 1
    await target.click()
  }
  await click(page.locator('thead').getByLabel('Select all on this page'))
  await page.getByText('25 selected').waitFor()
  await click(page.getByRole('checkbox', { name: 'All 40 that match' }))
  await page.getByText('40 selected').waitFor()
  // Opening the list and choosing from it.
  clicks += 2
  await page.getByLabel('Space or domain').selectOption('Press')
  await click(page.getByRole('button', { name: 'Move', exact: true }))
  await click(page.getByRole('button', { name: 'Move 40 links' }))
  await page.getByText('40 links moved to Press.').waitFor()
  assert.equal(clicks, 6)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText(/^\d+ changes undone\.$/).waitFor()
  assert.deepEqual(complaints, [])
})
