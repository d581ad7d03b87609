/** Frame, parts, styles and scripts in a real browser, under the CSP of pages. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { launchChromium, whyNoChromium } from '../../test/chromium.ts'
import { eventually } from '../../test/processes.ts'
import { html } from '../http/html.ts'
import { dashboardFiles } from './assets.ts'
import { type FramedDocument, renderBare, renderFramed } from './frame.ts'
import { linkButton, menu, submitButton } from './parts/buttons.ts'
import { collapsibleSection, errorSummary, textField } from './parts/fields.ts'
import { timeAgo } from './parts/format.ts'
import { colorField, destination, shortUrlLink, spaceLabel, statusBadge } from './parts/links.ts'
import { filterBar, pagination, resultCount } from './parts/list-controls.ts'
import { confirmation, emptyState, notice } from './parts/messages.ts'
import { selectable, selectRow, table } from './parts/table.ts'
import { figures } from './statistics.ts'

const skip = whyNoChromium() ?? false
const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

let browser: Browser
let server: Server
let origin: string
/** Posted forms by path. */
const posted: string[] = []

const page: Omit<FramedDocument, 'title' | 'body'> = {
  place: 'links',
  account: 'ä'.repeat(255),
  scheme: 'system',
  path: '/app/links',
}
const newLink = linkButton({
  label: 'New link',
  href: '/app/links/new',
  weight: 'primary',
  icon: 'plus',
  inDialog: true,
})
const links = ['summer', 'x'.repeat(255), 'קיץ', 'sale-🏖️', 'winter'].map((alias, index) => ({
  id: index + 1,
  alias,
  status: ['active', 'disabled', 'scheduled', 'expired'][index] ?? 'active',
  shortUrl: `https://go.acme.com/${alias}`,
  url: `https://acme.com/${'path/'.repeat(40)}${alias}`,
}))

/** The link list, filtered by the search. */
function linksPage(search: string): string {
  const found = links.filter(({ alias }) => alias.includes(search))
  const bar = filterBar({
    action: '/app/links',
    search: { name: 'search', label: 'Search links', value: search },
    results: 'results',
    filters: [{ name: 'status', label: 'Status', value: '', options: [{ value: '', label: 'Any status' }] }],
  })
  const count = resultCount(`${found.length} links`, '/app/links')
  const list = table({
    caption: 'Links',
    rows: found,
    sorting: { by: 'id', isDescending: true, href: (by) => `/app/links?sort_by=${by}` },
    columns: [
      { label: 'Select', kind: 'select', cell: ({ id, alias }) => selectRow(id, alias) },
      {
        label: 'Short link',
        kind: 'lead',
        sortBy: 'alias',
        cell: ({ id, shortUrl, url, status }) =>
          html`${shortUrlLink({ shortUrl, href: `/app/links/${id}`, coversRow: true })} ${statusBadge(status)}<br>${destination(url)}`,
      },
      { label: 'Space', cell: ({ id, alias }) => spaceLabel({ name: alias, color: id }) },
      { label: 'Created', sortBy: 'id', cell: () => timeAgo(0, Date.now()) },
      {
        label: 'Actions',
        kind: 'menu',
        cell: ({ id, alias }) =>
          menu(`menu-${id}`, `Actions for ${alias}`, [
            { label: 'Disable', href: '/disabled', icon: 'off', fields: { id: String(id) } },
            { label: 'Delete…', href: '/delete', icon: 'remove', isDangerous: true, inDialog: true },
          ]),
      },
    ],
  })
  const pages = pagination({ page: 1, perPage: 25, total: found.length, totalIsExact: true, href: () => '' })
  const results =
    found.length === 0
      ? emptyState({ title: 'No link matches', why: 'Try fewer letters.' })
      : selectable('/app/links/selected', html`${list}${pages}`, submitButton({ label: 'Delete', weight: 'danger' }))
  const body = html`${figures([{ label: 'Clicks', value: 9, before: 3 }], 'the week before')}${bar}<div class="results" id="results">${count}${results}</div>`
  return renderFramed({ ...page, title: 'Links', action: newLink, notice: notice('done', 'Deleted.'), body })
}

function formPage(error: string | null): string {
  const state = { value: 'a', error }
  const body = html`<form class="form" method="post" action="/made" novalidate data-guard>
${error === null ? null : errorSummary(['url', 'limit'].map((field) => ({ field, message: error })))}
${textField({ name: 'url', label: 'Destination', type: 'url', state, help: 'Any page.', hasFocus: true })}
${collapsibleSection({ title: 'When', isOpen: error !== null, body: textField({ name: 'limit', label: 'Limit', type: 'number', state }) })}
${colorField({ name: 'color', state })}${submitButton({ label: 'Create link' })}</form>`
  return renderFramed({ ...page, title: 'New link', body })
}

const pages: Readonly<Record<string, (query: URLSearchParams) => string>> = {
  '/app/links': (query) => linksPage(query.get('search') ?? ''),
  '/app/links/new': () => formPage(null),
  '/refused': () => formPage('That is no number.'),
  '/delete': () => {
    const body = confirmation({
      action: '/deleted',
      consequences: ['Gone.'],
      verb: 'Delete summer',
      cancel: '/app/links',
    })
    return renderFramed({ ...page, title: 'Delete summer?', body })
  },
  '/sign-in': () =>
    renderBare({
      title: 'Sign in',
      scheme: 'system',
      body: textField({ name: 'api_key', label: 'API key', state: { value: '', error: 'No.' } }),
    }),
}

before(async () => {
  if (skip) return
  browser = await launchChromium()
  const files = await dashboardFiles()
  server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const file = files.get(pathname.replace(/^\/app\/static\/\w+\//, ''))
    if (request.method === 'POST') posted.push(`${pathname} ${Buffer.concat(await request.toArray())}`)
    if (file !== undefined) return response.writeHead(200, { 'content-type': file.type }).end(file.codings.identity)
    const text = pages[pathname]?.(searchParams) ?? renderFramed({ ...page, title: 'Elsewhere', body: '' })
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterEach(() => Promise.all((browser?.contexts() ?? []).map((context) => context.close())))
after(() => Promise.all([browser?.close(), server?.close()]))

async function open(path: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const opened = await context.newPage()
  const complaints: string[] = []
  opened.on('console', (message) => complaints.push(message.text()))
  opened.on('pageerror', ({ message }) => complaints.push(message))
  await opened.goto(origin + path)
  return { page: opened, complaints: () => complaints.filter((text) => !text.includes('Failed to load resource')) }
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe reports no issues on ${colorScheme} pages, and the console has no errors`, { skip }, async () => {
    const { page, complaints } = await open('/sign-in', { colorScheme })
    for (const [path, width] of Object.keys(pages).flatMap((path) =>
      [390, 1280].map((width) => [path, width] as const),
    )) {
      await page.setViewportSize({ width, height: 844 })
      await page.goto(origin + path)
      const findings = await page.evaluate(`${axe}; axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
      assert.deepEqual(findings, [], path)
    }
    assert.deepEqual(complaints(), [])
  })
}

test('pages fit every width from 320 pixels, even with long names', { skip }, async () => {
  const { page } = await open('/sign-in')
  for (const path of Object.keys(pages)) {
    await page.goto(origin + path)
    for (const width of [320, 390, 768, 1280, 1920]) {
      await page.setViewportSize({ width, height: 844 })
      assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= width, `${path} at ${width}`)
    }
  }
})

test('copies the short link, and confirms it on the button', { skip }, async () => {
  const { page } = await open('/app/links', { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByRole('button', { name: 'Copy the short link' }).first().click()
  await page.getByText('Copied').and(page.locator(':visible')).first().waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'https://go.acme.com/summer')
  await eventually(async () => (await page.locator('.announcer').textContent()) === 'Copied')
})

test('updates the list and the URL while typing, and keeps the focus', { skip }, async () => {
  const { page, complaints } = await open('/app/links')
  await page.keyboard.press('/')
  await page.keyboard.type('winter')
  await page.waitForURL('**/app/links?search=winter')
  assert.equal(await page.locator('tbody tr').count(), 1)
  assert.equal(await page.evaluate('document.activeElement.id'), 'filter-search')
  await page.keyboard.type('xx')
  await page.getByRole('heading', { name: 'No link matches' }).waitFor()
  assert.deepEqual(complaints(), [])
})

test('a confirmation dialog focuses Cancel, closes with Esc, and returns the focus', {
  skip,
}, async () => {
  const { page } = await open('/app/links')
  const button = page.getByRole('button', { name: 'Actions for summer' })
  await button.click()
  await page.getByRole('link', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete summer?' })
  await dialog.waitFor()
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel')
  assert.equal(await dialog.getByRole('button', { name: 'Close' }).count(), 0)
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Actions for summer')
})

test('a form in a dialog asks before discarding changes, and posts to its own path', { skip }, async () => {
  const { page } = await open('/app/links')
  await page.keyboard.press('c')
  const field = page.getByLabel('Destination')
  await field.fill('https://acme.com')
  const asked = page.waitForEvent('dialog')
  const closing = page.getByRole('button', { name: 'Close' }).click()
  await (await asked).dismiss()
  await closing
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor()
  assert.ok(posted.some((request) => request.startsWith('/made url=https%3A%2F%2Facme.com')))
})

test('ignores reverted input, and detects changed selections', { skip }, async () => {
  const { page } = await open('/app/links')
  await page.keyboard.press('c')
  const [field, dialog] = [page.getByLabel('Destination'), page.locator('dialog')]
  await field.fill('https://acme.com')
  await field.fill('a')
  await page.getByRole('button', { name: 'Close' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.keyboard.press('c')
  await page.getByLabel('Amber').check()
  const asked = page.waitForEvent('dialog')
  const closing = page.getByRole('button', { name: 'Close' }).click()
  await (await asked).accept()
  await closing
  await dialog.waitFor({ state: 'detached' })
})

test('adds https to a URL on blur and on submit', { skip }, async () => {
  const { page } = await open('/app/links/new')
  const field = page.getByLabel('Destination')
  await field.fill('acme.com/left')
  await field.blur()
  assert.equal(await field.inputValue(), 'https://acme.com/left')
  await field.fill('localhost:3000')
  await field.blur()
  assert.equal(await field.inputValue(), 'localhost:3000')
  await field.fill('acme.com/sent')
  await field.press('Enter')
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor()
  assert.ok(posted.some((request) => request.startsWith('/made url=https%3A%2F%2Facme.com%2Fsent')))
})

test('selects single rows or all rows; row menus have their own forms', { skip }, async () => {
  const { page } = await open('/app/links')
  await page.getByLabel('Select summer').check()
  await page.getByText('1 selected').waitFor()
  await page.getByLabel('All on this page').check()
  await page.getByText('5 selected').waitFor()
  await page.getByRole('button', { name: 'Actions for summer' }).click()
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor()
  assert.ok(posted.includes('/disabled id=1'))
  await page.goBack()
  await page.getByLabel('Select winter').check()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor()
  assert.ok(posted.some((request) => request.startsWith('/app/links/selected ') && request.includes('row-5=on')))
})

test('explains the shortcuts, which can be turned off', { skip }, async () => {
  const { page } = await open('/app/links')
  await page.keyboard.press('?')
  await page.getByLabel('Use these keys').uncheck()
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('/')
  assert.equal(await page.evaluate('document.activeElement === document.body'), true)
  await page.getByRole('button', { name: 'Keyboard' }).click()
  await page.getByLabel('Use these keys').check()
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.locator('h1').click()
  await page.keyboard.type('gd')
  await page.waitForURL('**/app/domains')
})

test('shows a search button and the selection bar without scripts, and hides controls that need scripts', {
  skip,
}, async () => {
  const { page } = await open('/app/links', { javaScriptEnabled: false })
  assert.equal(await page.locator('[data-copy]:visible, .needs-script:visible').count(), 0)
  await page.getByLabel('Select summer').check()
  await page.getByRole('button', { name: 'Delete', exact: true }).waitFor()
  await page.getByLabel('Search links').fill('winter')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL('**/app/links?search=winter**')
  await page.getByRole('link', { name: 'New link' }).click()
  await page.waitForURL('**/app/links/new')
})

test('opens collapsed sections with errors, and focuses the first invalid field', {
  skip,
}, async () => {
  const { page } = await open('/refused')
  await eventually(async () => (await page.evaluate('document.activeElement.id')) === 'field-url')
  assert.equal(await page.getByLabel('Limit').isVisible(), true)
})
