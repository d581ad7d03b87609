/** Dates and times in forms, in a browser outside UTC. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserForTests, demoApp, signIn, skip } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()

test('shows and edits times in the time zone of the browser, and stores them in UTC', { skip }, async () => {
  const app = await demoApp()
  const at = { active_period_start_at: '2026-01-02T03:04:05.678Z', active_period_end_at: '2090-07-01T12:00:00Z' }
  const changed = await app.send('PATCH', '/api/v1/links/1', { json: at })
  assert.equal(changed.status, 200, changed.text)
  const { page, complaints } = await openWindow({ timezoneId: 'America/New_York' })
  await signIn(app, page)
  const stored = async () => (await app.send('GET', '/api/v1/links/1')).body.data
  const open = async () => {
    await page.goto(`${app.origin}/app/links/1/edit`)
    await page.locator('summary', { hasText: /^Dates/ }).click()
  }
  await open()
  const [starts, stops] = ['Starts', 'Stops'].map((word) => page.getByLabel(`${word} working on (America/New_York)`))
  assert.equal(await starts?.inputValue(), '2026-01-01T22:04:05.678')
  assert.equal(await stops?.inputValue(), '2090-07-01T08:00')
  await stops?.fill('2090-07-02T09:30')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The link is saved').waitFor()
  const { active_period_start_at, active_period_end_at } = await stored()
  assert.deepEqual(
    [active_period_start_at, active_period_end_at],
    [at.active_period_start_at, '2090-07-02T13:30:00.000Z'],
  )
  const told = page.getByRole('term').filter({ hasText: 'Stops working on' })
  assert.match(
    await told.locator('xpath=following-sibling::dd').first().innerText(),
    /^2 Jul 2090, 09:30 (?:GMT-4|EDT)$/,
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
  await page.getByText('The link is saved').waitFor()
  assert.equal((await stored()).active_period_end_at, null)
  await open()
  await stops?.fill('12026-11-22T10:00')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('[aria-invalid="true"]').waitFor()
  assert.equal(await stops?.inputValue(), '12026-11-22T10:00')
  assert.equal((await stored()).active_period_end_at, null)
  assert.deepEqual(complaints, [])
})
