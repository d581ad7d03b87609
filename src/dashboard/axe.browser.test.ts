/** Axe issues and console messages of every page in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { browserForTests, findings, phone, shoot, signIn, skip, storedIn } from '../../test/dashboard-browser.ts'
import { fullApp, paths } from '../../test/dashboard-pages.ts'

const openWindow = browserForTests()
const empty = ['/app', '/app/links', '/app/links/new', '/app/domains', '/app/spaces', '/app/keys']

/** Tests only read it. */
const app = await fullApp()

test('axe reports no serious issue on any page, light or dark, and the console has no errors', { skip }, async () => {
  const { page, complaints, requests } = await openWindow()
  await signIn(app, page)
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(app.origin + path)
    assert.deepEqual(await findings(page), [], path)
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.deepEqual(await findings(page, ['cat.color']), [], `${path} in the dark`)
    await shoot(page, `1280-dark-page-${name}`)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  assert.deepEqual(complaints, [])
  assert.deepEqual(
    requests.filter(({ origin }) => origin !== app.origin),
    [],
  )
})

test('axe reports no serious issue in an empty account or with a single record', { skip }, async () => {
  const app = await startApp()
  const { page, complaints } = await openWindow(phone())
  await page.goto(`${app.origin}/app/sign-in`)
  assert.deepEqual(await findings(page), [])
  await shoot(page, '390-light-page-sign-in')
  await signIn(app, page)
  for (const path of empty) {
    await page.goto(app.origin + path)
    assert.deepEqual(await findings(page), [], path)
    await shoot(page, `390-light-empty${path.replaceAll('/', '-')}`)
  }
  const stored = storedIn(app)
  await stored('/domains', { name: 'go.acme.com' })
  await stored('/links', { url: 'https://acme.com/' })
  for (const path of ['/app', '/app/links', '/app/links/1', '/app/domains']) {
    await page.goto(app.origin + path)
    assert.deepEqual(await findings(page), [], path)
  }
  assert.deepEqual(complaints, [])
})
