/** The redirect server in a real browser: links, forms, prefetches and pages. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { browserForTests, findings, skip } from '../../test/dashboard-browser.ts'
import { eventually } from '../../test/processes.ts'
import { listenOn } from '../../test/servers.ts'
import { type LinkFields, startVisitors } from '../../test/visitors.ts'
import { hashPassword } from '../links/password.ts'

const openWindow = browserForTests()
const redirect_password = await hashPassword('swordfish')

/** A destination site, with a page that makes the browser prefetch the URL in its query. */
async function startSite(): Promise<string> {
  const server = createServer((request, response) => {
    const ahead = new URL(request.url ?? '/', 'http://localhost').searchParams.get('ahead')
    const rules = JSON.stringify({ prefetch: [{ source: 'list', urls: [ahead], eagerness: 'immediate' }] })
    const script =
      ahead === null ? '' : `<script type="speculationrules">${rules}</script><a href="${ahead}">Follow</a>`
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<!doctype html><title>Site</title><h1>Site</h1>${script}`)
  })
  return `http://localhost:${await listenOn({ after }, server)}`
}

/** Opens a browser page, and a redirect server whose domain resolves to this machine. */
async function open(links: (site: string) => readonly LinkFields[]) {
  const site = await startSite()
  const listener = await startVisitors({
    localhost: { homepage_url: `${site}/home`, links: links(site) },
    'bare.localhost': {},
  })
  const { page, complaints } = await openWindow({ viewport: { width: 390, height: 844 } })
  const origin = `http://localhost:${listener.port}`
  return { ...listener, page, site, origin, complaints }
}

test('shows an error after a wrong password, and redirects after the right one', { skip }, async () => {
  const { page, site, origin, complaints } = await open((site) => [
    { alias: 'secret', url: `${site}/in`, redirect_password },
  ])
  await page.goto(`${origin}/secret`)
  const field = page.getByLabel('Password')
  assert.equal(await field.evaluate('document.activeElement.id'), 'password')
  await field.fill('sword')
  await page.getByRole('button', { name: 'Open link' }).click()
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByRole('alert').innerText(), 'Wrong password. Check it and try again.')
  await field.fill('swordfish')
  await field.press('Enter')
  await page.waitForURL(`${site}/in`)
  assert.deepEqual(complaints, [])
})

test('counts a click when a prefetched link is visited, not when it is prefetched', {
  skip,
}, async () => {
  const { page, site, origin, clicks, counts } = await open((site) => [{ alias: 'a', url: `${site}/target` }])
  await page.goto(`${site}/?ahead=${encodeURIComponent(`${origin}/a`)}`)
  await eventually(() => counts.prefetch > 0)
  assert.deepEqual(clicks, [])
  await page.getByText('Follow').click()
  await page.waitForURL(`${site}/target`)
  assert.deepEqual(clicks, [1])
})

test('styles the pages, light or dark, fits them to a phone, and passes axe', { skip }, async () => {
  const { page, origin, complaints } = await open((site) => [
    { alias: 'secret', url: site, redirect_password },
    { alias: 'over', url: site, active_period_end_at: '1970-01-01T00:00:00.000Z' },
    { alias: 'long', url: `${site}/${'x'.repeat(2_000)}`, active_period_end_at: '2096-10-02T07:06:40.000Z' },
  ])
  for (const [path, status] of Object.entries({ secret: 401, over: 410, none: 404, 'long+': 200, '': 404 })) {
    const response = await page.goto(path === '' ? origin.replace('localhost', 'bare.localhost') : `${origin}/${path}`)
    assert.equal(response?.status(), status)
    const radius: string = await page.evaluate('getComputedStyle(document.querySelector("main")).borderRadius')
    assert.equal(radius, '10px', 'the style is allowed by its hash')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
    assert.deepEqual(await findings(page), [])
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.deepEqual(await findings(page, ['wcag2aa']), [], 'in the dark')
    await page.emulateMedia({ colorScheme: 'light' })
  }
  assert.deepEqual(complaints, [])
})
