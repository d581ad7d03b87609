import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startApp, type TestApp } from '../../test/app.ts'
import { launchChromium, whyNoChromium } from '../../test/chromium.ts'
import { operations } from '../app.ts'

/** A page of the app, and all that went on behind it. */
interface Visit {
  readonly page: Page
  readonly app: TestApp
  readonly requests: URL[]
  /** What the browser complained of: errors of scripts, violations of the content security policy, failed requests. */
  readonly complaints: string[]
}

const skip = whyNoChromium() ?? false
let browser: Browser

before(async () => {
  if (!skip) browser = await launchChromium()
})
after(() => browser?.close())

for (const path of ['/', '/docs', '/docs/', '/docs?key=wm_', '/docs/static/']) {
  test(`${path} shows every operation, with no request to any other host`, { skip }, async () => {
    const { page, app, requests, complaints } = await visit(path)
    for (const { id, tag } of operations) await page.locator(`#operations-${tag.name}-${id}`).waitFor()
    assert.equal(await page.locator('.opblock').count(), operations.length + 3)
    assert.equal(await page.title(), 'Waymark API')
    assert.equal(new URL(page.url()).pathname, '/docs')
    assert.deepEqual(
      requests.filter(({ origin, protocol }) => origin !== app.origin && protocol !== 'data:'),
      [],
    )
    assert.deepEqual(complaints, [])
  })
}

test('Authorize and Try it out store a domain', { skip }, async () => {
  const { page, app, requests, complaints } = await visit('/docs')
  await authorize(page, app.key)
  const operation = page.locator('#operations-Domains-storeDomain')
  await operation.locator('.opblock-summary-control').click()
  await operation.locator('[data-property-name=name] input').first().fill('Docs.Acme.com')
  await operation.getByRole('button', { name: 'Execute' }).click()
  const answer = operation.locator('.live-responses-table .response')
  await answer.waitFor()
  assert.match(await answer.locator('.response-col_status').innerText(), /^201/)

  const { body } = await app.send('GET', '/api/v1/domains')
  assert.deepEqual(
    body.data.map(({ name, homepage_url }: Record<string, string>) => [name, homepage_url]),
    [['docs.acme.com', 'https://acme.com']],
  )
  assert.deepEqual(
    requests.filter(({ origin }) => origin !== app.origin),
    [],
  )
  assert.deepEqual(complaints, [])
})

test('the key is forgotten with the page', { skip }, async () => {
  const { page, app } = await visit('/docs')
  await authorize(page, app.key)
  await page.reload()
  await page.locator('.btn.authorize.unlocked').waitFor()
  assert.equal(await page.evaluate('JSON.stringify([localStorage, sessionStorage])'), '[{},{}]')
})

test('the pages of problems are shown as they are meant to be', { skip }, async () => {
  const { page, complaints } = await visit('/problems/validation_failed')
  assert.equal(await page.locator('h1').innerText(), 'Validation failed')
  const { width = 0 } = (await page.locator('body').boundingBox()) ?? {}
  assert.ok(width > 300 && width < 900, `the style was not applied: the text is ${width} pixels wide`)
  assert.deepEqual(complaints, [])
})

async function visit(path: string): Promise<Visit> {
  const app = await startApp()
  const page = await browser.newPage()
  const requests: URL[] = []
  const complaints: string[] = []
  page.on('request', (request) => void requests.push(new URL(request.url())))
  page.on('requestfailed', (request) => void complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`)
  })
  page.on('pageerror', (error) => void complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  await page.goto(app.origin + path)
  return { page, app, requests, complaints }
}

async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.btn.authorize').first().click()
  await page.getByLabel('auth-bearer-value').fill(key)
  await page.locator('.modal-btn.authorize').click()
  await page.locator('.btn-done').click()
  await page.locator('.btn.authorize.locked').waitFor()
}
