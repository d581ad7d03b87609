import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, type TestApp } from '../../test/app.ts'
import { type Browser, signedIn } from '../../test/dashboard.ts'
import { eventually } from '../../test/processes.ts'
import { shortUrls } from '../names/short-url.ts'
import { maxRendering, type Page, Pages } from './pages.ts'

/** Adds a page to the app that is rendered when the test says so, and counts how many are being rendered. */
function slowPage({ router, storage }: TestApp) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const rendering = { now: 0, most: 0, release: resolve }
  const pages = new Pages({
    router,
    db: storage,
    shortUrl: shortUrls('http://{domain}'),
    address: () => '',
    spend: () => undefined,
  })
  const page: Page = async () => {
    rendering.now += 1
    rendering.most = Math.max(rendering.most, rendering.now)
    await promise
    rendering.now -= 1
    return { title: 'Slow', place: 'overview', body: '' }
  }
  pages.show('/app/slow', page)
  pages.act('/app/slow', page)
  pages.act('/app/slow-end', page, { isLimited: false })
  return rendering
}

const ask = (browser: Browser, times: number) =>
  Array.from({ length: times }, () => browser.get('/app/slow', { seesOverload: true }))

const { atOnce, atOncePerPlace, perPlace } = maxRendering

test('renders two pages of a session at the same time, lets 32 wait, and returns 503 for more; others are served', async () => {
  const app = await startApp()
  const rendering = slowPage(app)
  const [browser, other] = [await signedIn(app), await signedIn(app)]
  const served = ask(browser, atOncePerPlace + perPlace)
  await eventually(() => app.measured.counts.underWay === served.length)
  for (const { status, headers, page } of await Promise.all(ask(browser, 10))) {
    assert.deepEqual([status, headers['retry-after'], page.heading], [503, '1', 'Overloaded'])
    assert.match(page.text, /too many pages in a moment/)
  }
  assert.equal(rendering.most, atOncePerPlace)
  assert.equal((await app.send('GET', '/health')).status, 200)
  assert.equal((await app.send('GET', '/api/v1/me')).status, 200)
  const another = other.get('/app/slow')
  await eventually(() => rendering.now === atOncePerPlace + 1)
  assert.equal(app.measured.counts.underWay, served.length + 1)
  rendering.release()
  for (const { status } of await Promise.all([...served, another])) assert.equal(status, 200)
  assert.equal(rendering.most, atOncePerPlace + 1)
})

test('renders four pages at the same time for any number of sessions; browsers with six tabs get all of them', async () => {
  const app = await startApp()
  const rendering = slowPage(app)
  const browsers = await Promise.all(Array.from({ length: 5 }, () => signedIn(app)))
  const served = browsers.flatMap((browser) => ask(browser, 6))
  await eventually(() => app.measured.counts.underWay === served.length && rendering.now === atOnce)
  rendering.release()
  for (const { status } of await Promise.all(served)) assert.equal(status, 200)
  assert.equal(rendering.most, atOnce)
})

test('forms count as pages, except those that end a session', async () => {
  const app = await startApp()
  const rendering = slowPage(app)
  const browser = await signedIn(app)
  const served = ask(browser, atOncePerPlace + perPlace)
  await eventually(() => app.measured.counts.underWay === served.length)
  const refused = await browser.post('/app/slow', {}, { seesOverload: true })
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  const ending = browser.post('/app/slow-end')
  await eventually(() => rendering.now === atOncePerPlace + 1)
  rendering.release()
  for (const { status } of await Promise.all([...served, ending])) assert.equal(status, 200)
})
