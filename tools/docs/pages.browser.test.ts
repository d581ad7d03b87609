import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { operations } from '../../src/app/operations.ts'
import { startApp } from '../../test/app.ts'
import { browserForTests, findings, skip, type Window } from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()
const app = await startApp()

test('/docs/ shows the guide on the first screen, a link to the dashboard, and every operation in a few screens, with no request to any other host', {
  skip,
}, async () => {
  const { page, requests, complaints } = await visit('/docs/?key=wm_')
  assert.equal(await page.title(), 'API reference · Waymark')
  assert.equal(new URL(page.url()).pathname, '/docs')
  const example = (await page.locator('#getting-started pre').textContent()) ?? ''
  assert.ok(example.includes(`${app.origin}/api/v1/domains`) && !example.includes('links.example.com'))
  for (const [screen, limit] of [
    [{ width: 1280, height: 900 }, 5_000],
    [{ width: 390, height: 844 }, 6_200],
    [{ width: 320, height: 900 }, 7_400],
  ] as const) {
    await page.setViewportSize(screen)
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = false')
    const { y } = (await page.locator('.topic').first().boundingBox()) ?? assert.fail()
    assert.ok(y < screen.height - 100, `it starts at ${y}`)
    const dashboard = page.getByRole('link', { name: 'Dashboard' })
    assert.deepEqual([await dashboard.getAttribute('href'), await dashboard.isVisible()], ['/app', true])
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
    const heights = await page.evaluate<[id: string, height: number][]>(
      '[...document.querySelectorAll(".operation")].map((each) => [each.id, each.getBoundingClientRect().height])',
    )
    const ids = heights.map(([id]) => id)
    assert.equal(ids.length, operations.length + 3)
    assert.ok(operations.every(({ id }) => ids.includes(id)))
    for (const [id, height] of heights) assert.ok(height > 200 && height <= limit, `${id} is ${height} high`)
    const root = 'document.documentElement'
    assert.equal(await page.evaluate(`${root}.scrollWidth > ${root}.clientWidth`), false)
  }
  assert.ok(requests.every(({ origin }) => origin === app.origin))
  assert.deepEqual(complaints, [])
})

test('axe reports no serious issue on light or dark pages, which follow the color scheme of the system', {
  skip,
}, async () => {
  const assertSound = async (page: Page) => {
    assert.deepEqual(await findings(page), [])
    assert.ok((await lightness(page)) > 0.9)
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.deepEqual(await findings(page, ['color-contrast']), [])
    assert.ok((await lightness(page)) < 0.3)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  const { page, complaints } = await visit('/docs')
  // One of each kind: axe takes many seconds for all of them.
  await page.evaluate(
    'for (const each of document.querySelectorAll(".operation:not(#listDomains, #storeDomain), .object:not(#Domain)")) each.remove()',
  )
  for (const id of ['listDomains', 'storeDomain', 'Domain']) await page.locator(`#${id} > summary`).click()
  await page.locator('#storeDomain').getByText('Example of').click()
  await send(page.locator('#listDomains'))
  await assertSound(page)
  for (const path of ['/problems/validation_failed', '/docs/dashboard']) {
    await page.goto(app.origin + path)
    await assertSound(page)
  }
  assert.deepEqual(complaints, [])
})

test('every page of the documentation fits a phone', { skip }, async () => {
  const { page, complaints } = await visit('/docs/README')
  await page.setViewportSize({ width: 390, height: 844 })
  const names = await page.evaluate<string[]>('[...document.querySelectorAll(".contents a")].map(({ href }) => href)')
  assert.ok(names.length > 15)
  for (const name of names) {
    await page.goto(name)
    assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390, name)
  }
  assert.deepEqual(complaints, [])
})

/** Returns the lightness of the page, from 0 to 1. */
async function lightness(page: Page): Promise<number> {
  const color = await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
  return Number(/^oklch\(([\d.]+) /.exec(color)?.[1])
}

test('filters operations by all words, and opens the operation or object in the URL fragment', { skip }, async () => {
  const { page } = await visit('/docs#storeSpace')
  await page.locator('#storeSpace .send').waitFor()
  await page.locator('#storeSpace a[href="#Space"]').click()
  await page.locator('#Space dl').waitFor()
  await page.locator('#listSpaces > summary').click()
  await page.waitForURL('**/docs#listSpaces')
  const filter = page.getByLabel('Filter')
  for (const [words, ...ids] of [
    ['create link', 'storeDomain', 'storeLink', 'storeLinks'],
    ['edit domain', 'updateDomainByPut', 'updateDomain'],
    ['analytics', 'showStats', 'deleteLinkClicks'],
    ['clicks_limit new', 'storeLink'],
    ['alias_taken patch', 'updateLink'],
    ['login', 'showOwnKey'],
    ['songs'],
    ['DELETE space', 'deleteSpace'],
  ] as const) {
    await filter.fill(words)
    const shown = page.locator('.operation:visible')
    assert.deepEqual(await shown.evaluateAll((all: { id: string }[]) => all.map(({ id }) => id)), ids, words)
    assert.equal(await page.getByText('Nothing matches.').isVisible(), ids.length === 0)
  }
  assert.equal(await page.locator('nav li a[href="#deleteSpace"]').isVisible(), true)
  assert.equal(await page.locator('nav li a[href="#listDomains"]').isVisible(), false)
  await filter.fill('quota')
  assert.equal(await page.getByRole('heading', { name: 'Rate limits' }).isVisible(), true)
  await filter.fill('')
  assert.equal(await page.locator('.operation:visible').count(), operations.length + 3)
})

test('sends JSON, forms, and parameters in the path, query and headers, without empty ones', { skip }, async () => {
  const { page, requests, complaints } = await visit('/docs')
  await page.getByLabel('API key').fill(app.key)
  await page.locator('#storeDomain > summary').click()
  const operation = page.locator('#storeDomain')
  await operation.getByLabel('Body').fill('{"name": "Docs.Acme.com"}')
  assert.match(await send(operation), /^201 Created/)
  await operation.getByLabel('Send as').selectOption('Form')
  assert.equal(await operation.getByLabel('Body').inputValue(), 'name=Docs.Acme.com')
  await operation.getByLabel('Body').fill('name=go.acme.com\nhomepage_url=https://acme.com/?a=1&b=2\n')
  assert.match(
    await operation.locator('[data-language=curl]').innerText(),
    /--data-urlencode 'homepage_url=https:\/\/acme\.com\/\?a=1&b=2'/,
  )
  assert.match(await send(operation), /^201 Created/)

  const { data } = (await app.send('GET', '/api/v1/domains')).body
  assert.deepEqual(
    data.map(({ name, homepage_url }: Record<string, string>) => [name, homepage_url]),
    [
      ['go.acme.com', 'https://acme.com/?a=1&b=2'],
      ['docs.acme.com', null],
    ],
  )
  assert.ok(requests.every(({ origin }) => origin === app.origin))
  assert.deepEqual(complaints, [])

  const { body } = await app.send('POST', '/api/v1/spaces', { form: { name: 'a&b', color: 2 } })
  const list = page.locator('#listSpaces')
  await list.locator('> summary').click()
  await list.getByLabel('search', { exact: true }).fill('a&b')
  await list.getByLabel('per_page').selectOption('25')
  assert.match(await list.locator('[data-language=curl]').innerText(), /\/api\/v1\/spaces\?search=a%26b&per_page=25'/)
  assert.match(await send(list), /^200 OK/)
  assert.match(await list.locator('.response > pre').innerText(), /"name": "a&b"/)
  assert.match((await list.locator('.response details pre').textContent()) ?? '', /^x-ratelimit-limit: \d+$/m)

  const update = page.locator('#updateSpace')
  await update.locator('> summary').click()
  await update.getByLabel('id', { exact: true }).fill(String(body.data.id))
  await update.getByLabel('If-Match').fill('"other"')
  assert.match(await send(update), /^412/)
})

test('shows every example in the language that was chosen last, and copies it', { skip }, async () => {
  const { page, context } = await visit('/docs#storeSpace')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const store = page.locator('#storeSpace')
  await store.getByText('Python', { exact: true }).click()
  await store.getByLabel('Body').fill('{"name": "Sales", "color": null}')
  await store.getByRole('button', { name: 'Copy' }).click()
  await store.getByText('Copied').waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.equal(copied, await store.locator('fieldset pre:visible').innerText())
  assert.match(copied, /^import os\n\nimport requests\n/)
  assert.ok(copied.includes(`requests.post(\n    "${app.origin}/api/v1/spaces"`) && copied.includes('"color": None'))
  await page.locator('#listSpaces > summary').click()
  assert.match(await page.locator('#listSpaces fieldset pre:visible').innerText(), /requests\.get/)
})

test('without scripts, shows the guide and all examples, and no controls that need scripts', { skip }, async () => {
  const { page } = await openWindow({ javaScriptEnabled: false })
  await page.goto(`${app.origin}/docs`)
  await page.locator('#storeLink > summary').click()
  const store = page.locator('#storeLink')
  for (const [name, start] of [
    ['curl', /^curl -X POST/],
    ['JavaScript', /^const response/],
    ['Python', /^import os/],
  ] as const) {
    await store.getByText(name, { exact: true }).click()
    assert.match(await store.locator('fieldset pre:visible').innerText(), start)
  }
  assert.equal(await store.getByRole('button', { name: 'Send' }).isVisible(), false)
  assert.equal(await page.getByLabel('Filter').isVisible(), false)
})

test('shows an error if the request cannot be sent, and stores the key for the tab until it is removed', {
  skip,
}, async () => {
  const { page } = await visit('/docs')
  await page.getByLabel('API key').fill('wm_ключ')
  await page.locator('#listSpaces > summary').click()
  assert.match(await send(page.locator('#listSpaces')), /^The request could not be sent\. /)
  await page.getByLabel('API key').fill(app.key)
  assert.match(await send(page.locator('#listSpaces')), /^200 OK/)
  await page.reload()
  assert.equal(await page.getByLabel('API key').inputValue(), app.key)
  const other = await page.context().newPage()
  await other.goto(page.url())
  assert.equal(await other.getByLabel('API key').inputValue(), '')
  await page.getByRole('button', { name: 'Forget' }).click()
  await page.reload()
  assert.equal(await page.getByLabel('API key').inputValue(), '')
  assert.equal(await page.evaluate('JSON.stringify([localStorage, sessionStorage])'), '[{},{}]')
})

/** Opens a page. */
async function visit(path: string): Promise<Window> {
  const opened = await openWindow({ viewport: { width: 1280, height: 900 } })
  await opened.page.goto(app.origin + path)
  return opened
}

/** Sends the request of the operation's form. Returns the line that says how it went. */
async function send(operation: Locator): Promise<string> {
  const answer = operation.locator('.response > p')
  await operation.locator('.response').evaluate((element: { textContent: string }) => {
    element.textContent = ''
  })
  await operation.getByRole('button', { name: 'Send', exact: true }).click()
  await answer.waitFor()
  return answer.innerText()
}
