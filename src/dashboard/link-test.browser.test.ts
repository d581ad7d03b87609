/** "Test this link" on the link page, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { browserForTests, findings, hasFocus, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()
const rules = [
  { name: 'German', countries: ['DE', 'AT'], languages: ['de'], url: 'https://acme.com/de' },
  {
    name: 'Phones in the evening',
    devices: ['mobile'],
    hours: '18:00-24:00',
    url: 'https://acme.com/evening?utm_source=print',
  },
  {
    name: 'Test',
    urls: [1, 2].map((weight) => ({ url: `https://acme.com/${weight}`, weight })),
  },
]

for (const [width, options] of [
  [1280, {}],
  [390, phone()],
] as const) {
  test(`tests a link with only the keyboard at ${width} px`, { skip }, async () => {
    const app = await startApp()
    await app.send('POST', '/api/v1/domains', { json: { name: 'go.acme.com' } })
    const { body } = await app.send('POST', '/api/v1/links', {
      json: { url: 'https://acme.com/', alias: 'summer', rules },
    })
    const { page, complaints } = await openWindow(options)
    await signIn(app, page, `/app/links/${body.data.id}`)
    const country = page.getByLabel('Country')
    await country.focus()
    await page.keyboard.type('Austria')
    await page.keyboard.press('Tab')
    assert.ok(await hasFocus(page.getByLabel('Language')))
    await page.keyboard.type('French')
    await page.keyboard.press('Tab')
    await page.keyboard.type('iPhone')
    await page.getByLabel('Time').fill('2026-12-24T20:00')
    await page.getByRole('button', { name: 'Test', exact: true }).focus()
    await page.keyboard.press('Enter')
    const result = page.getByText('Decided by rule 2, Phones in the evening.')
    await result.waitFor()
    assert.match(page.url(), /\?.*country=AT&language=fr&device=iphone&at=2026-12-24T20%3A00.*#test-result$/)
    assert.equal(await country.inputValue(), 'AT')
    assert.ok(await result.isVisible())
    const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
    assert.equal(isWide, false)
    assert.deepEqual(await findings(page), [])
    await shoot(page, `link-test-${width}`)
    await page.reload()
    await result.waitFor()
    assert.deepEqual(complaints, [])
  })
}

test('gives the focus to the result while the offer to undo the new link is shown', { skip }, async () => {
  const app = await startApp()
  await app.send('POST', '/api/v1/domains', { json: { name: 'go.acme.com' } })
  const { page, complaints } = await openWindow()
  await signIn(app, page, '/app/links/new')
  await page.getByLabel('Destination').first().fill('https://acme.com/new')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.getByText('Test this link').click()
  await page.getByRole('button', { name: 'Test', exact: true }).press('Enter')
  const result = page.locator('.test-result')
  await result.waitFor()
  await page.waitForLoadState('load')
  assert.ok(await page.getByRole('button', { name: 'Undo' }).first().isVisible())
  assert.ok(await hasFocus(result))
  assert.equal(await page.locator('[data-created]').count(), 0)
  assert.deepEqual(complaints, [])
})
