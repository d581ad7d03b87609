/** The daily work with forty links in a real browser, on a light desktop and a dark phone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { startApp } from '../../test/app.ts'
import { browserForTests, demoApp, findings, goTo, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()
test('finds, moves, compares and deletes links of two months on a light desktop', { skip }, async () => {
  const { page, complaints } = await openWindow()
  await signIn(await demoApp(), page)
  await findsPastedLink(page)
  await movesAll(page, 5)
  await compares(page)
  await deletesDomain(page)
  assert.deepEqual(complaints, [])
})

test('imports 493 of 500 rows, tags and finds 197 on a dark phone', { skip }, async () => {
  const app = await startApp()
  const { page, complaints } = await openWindow({ ...phone(), colorScheme: 'dark' })
  const shot = (step: string) => shoot(page, `import-${step}`)
  await app.stored('/domains', { name: 'go.example.com' })
  await signIn(app, page)
  await imports(page, shot)
  await page.goto(`${app.origin}/app/links?search=spring`)
  await selectsAll(page, 197)
  await page.getByRole('button', { name: 'Tags…' }).click()
  await page.getByLabel('Add tags').fill('Spring')
  await page.getByRole('button', { name: 'Change tags of 197 links' }).click()
  await page.getByText('changed the tags of 197 links.').waitFor()
  await shot('5-tagged')
  await page.goto(`${app.origin}/app/links`)
  await page.getByRole('combobox', { name: 'Tags' }).fill('Spring')
  await page.locator('.found [data-count]', { hasText: '197 links' }).waitFor()
  await shot('6-found')
  assert.deepEqual(complaints, [])
})

/** Imports 500 rows from the first screen, and leaves out invalid ones. */
async function imports(page: Page, shot: (step: string) => Promise<void>): Promise<void> {
  const rows = Array.from({ length: 500 }, (_, n) => {
    const season = n >= 200 ? 'autumn' : 'spring'
    return [n % 77 === 0 ? 'no url' : `https://acme.com/${n}`, `a-${n}`, season]
  })
  const csv = [['Destination', 'Alias', 'Title'], ...rows].map((cells) => cells.join(';')).join('\r\n')
  await page.getByRole('link', { name: 'Import', exact: true }).click()
  const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) }
  await page.getByLabel('File', { exact: true }).setInputFiles(file)
  await shot('1-form')
  await page.getByRole('button', { name: 'Read the file' }).click()
  await page.getByText('7 rows would be left out').waitFor()
  assert.deepEqual(await findings(page), [])
  await shot('2-plan')
  await page.getByRole('button', { name: 'Import 493 links' }).click()
  await page.getByText(/^Imported/).waitFor()
  await shot('3-imported')
}

async function selectsAll(page: Page, total: number): Promise<void> {
  const all = page.getByLabel('All on this page')
  await ((await all.isVisible()) ? all : page.locator('tbody').getByRole('checkbox').first()).click()
  await page.getByRole('checkbox', { name: `All ${total} that match` }).click()
  await opensActions(page, (button) => button.click())
}

async function findsPastedLink(page: Page): Promise<void> {
  const count = page.locator('.found [data-count]')
  await goTo(page, 'Links')
  await page.getByRole('searchbox', { name: 'Search links' }).fill('http://go.acme.com:3080/summer/')
  await count.filter({ hasText: /^1 link$/ }).waitFor()
  const link = page.getByRole('rowheader').first().getByRole('link')
  assert.equal(await link.getAttribute('aria-label'), 'go.acme.com:3080/summer')
  await page.getByRole('link', { name: 'Clear all' }).click()
  await count.filter({ hasText: /^\d\d links$/ }).waitFor()
}

async function movesAll(page: Page, mostClicks: number): Promise<void> {
  const total = parseInt(await page.locator('.found [data-count]').innerText(), 10)
  assert.ok(total >= 40)
  let clicks = 0
  const click = async (target: Locator) => {
    clicks += 1
    await target.click()
  }
  const all = page.getByLabel('All on this page')
  await click((await all.isVisible()) ? all : page.locator('tbody').getByRole('checkbox').first())
  await click(page.getByRole('checkbox', { name: `All ${total} that match` }))
  await page.getByText(`${total} selected`).waitFor()
  await opensActions(page, click)
  await click(page.getByRole('button', { name: 'Move…' }))
  await click(page.getByRole('button', { name: 'Press', exact: true }))
  await click(page.getByRole('button', { name: `Move ${total} links` }))
  await page.getByText(/^Moved \d+ links to Press\./).waitFor()
  assert.ok(clicks <= mostClicks, `${clicks} clicks`)
  await goTo(page, 'Spaces')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText(/^Change undone\. /).waitFor()
}

/** Phones show the actions for selected links after a click. */
async function opensActions(page: Page, click: (button: Locator) => Promise<void>): Promise<void> {
  const actions = page.getByRole('button', { name: 'Actions', exact: true })
  if (await actions.isVisible()) await click(actions)
}

async function compares(page: Page): Promise<void> {
  await goTo(page, 'Links')
  for (const alias of ['app', 'jobs']) await page.getByLabel(`Select acme.link:3080/${alias}`, { exact: true }).check()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('heading', { level: 1, name: 'Compare 2 links' }).waitFor()
  assert.equal(await page.getByRole('slider').count(), 1)
  assert.equal(await page.locator('.table').getByRole('rowheader').count(), 2)
}

async function deletesDomain(page: Page): Promise<void> {
  await goTo(page, 'Domains')
  await page.getByRole('link', { name: 'acme.link', exact: true }).click()
  await page.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('link', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete acme.link and its 20 links?' })
  await dialog.getByText(/It had [\d,]+ clicks in the last 30 days, the last /).waitFor()
  await dialog.getByLabel('Type acme.link to confirm').fill('something else')
  await dialog.getByRole('button', { name: 'Delete acme.link' }).click()
  await page.getByText('Type acme.link to confirm.').waitFor()
  await page.getByLabel('Type acme.link to confirm').fill('acme.link')
  await page.getByRole('button', { name: 'Delete acme.link' }).click()
  await page.getByText(/^Deleted acme\.link/).waitFor()
  await goTo(page, 'Spaces')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Change undone. Restored acme.link and 20 links.').waitFor()
}
