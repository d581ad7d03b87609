import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startApp, type TestApp } from '../../test/app.ts'
import { type Browser, signedIn } from '../../test/dashboard.ts'
import { eventually } from '../../test/processes.ts'
import { RateLimits } from '../api/rate-limit.ts'
import { createSemaphores, maxPages } from '../app/semaphores.ts'
import { overloaded } from '../errors.ts'
import { Overload } from '../http/overload.ts'
import { shortUrls } from '../names/short-url.ts'
import { assetFolder } from './assets.ts'
import type { PageHandler } from './page.ts'
import { PageServer } from './pages.ts'

/** Adds a page that renders when the test releases it. Counts concurrent renderings. */
function slowPage({ router, storage }: TestApp) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const rendering = { now: 0, most: 0, begun: 0, release: resolve }
  const pages = new PageServer({
    router,
    storage,
    shortUrl: shortUrls('http://{domain}'),
    dashboardUrl: () => '',
    rateLimits: new RateLimits(0, storage),
    semaphores: createSemaphores(),
  })
  const page: PageHandler = async () => {
    rendering.begun += 1
    rendering.now += 1
    rendering.most = Math.max(rendering.most, rendering.now)
    await promise
    rendering.now -= 1
    return { title: 'Slow', section: 'overview', body: '' }
  }
  pages.get('/app/slow', null, page)
  pages.post('/app/slow', null, async () => ({ title: 'Done', section: 'overview', body: '' }))
  return rendering
}

const ask = (browser: Browser, times: number) => Array.from({ length: times }, () => browser.get('/app/slow'))

/** Returns a browser signed in to another account. */
async function strangerOf(app: TestApp): Promise<Browser> {
  return signedIn(app, await app.createKey({ account: await app.createAccount() }))
}

const { concurrencyPerKey, maxQueuePerKey } = maxPages

test('handles four pages per account at the same time, lets 64 wait, and returns 503 for more', async () => {
  const app = await startApp()
  const rendering = slowPage(app)
  const sessions = [await signedIn(app), await signedIn(app)] as const
  const served = sessions.flatMap((browser) => ask(browser, (concurrencyPerKey + maxQueuePerKey) / 2))
  await eventually(() => app.measured.counts.underWay === served.length)
  for (const { status, headers, page } of await Promise.all(sessions.flatMap((browser) => ask(browser, 5)))) {
    assert.deepEqual([status, headers['retry-after'], page.heading], [503, '1', 'Overloaded'])
    assert.match(page.text, /Too many pages are loading/)
  }
  assert.equal(rendering.most, concurrencyPerKey)
  rendering.release()
  for (const { status } of await Promise.all(served)) assert.equal(status, 200)
  assert.equal(rendering.most, concurrencyPerKey)
})

test('serves other accounts, the API, health checks and forms while pages of one account wait', async () => {
  const app = await startApp()
  const rendering = slowPage(app)
  const [browser, stranger] = [await signedIn(app), await strangerOf(app)]
  const served = ask(browser, concurrencyPerKey + maxQueuePerKey)
  await eventually(() => app.measured.counts.underWay === served.length)
  assert.equal((await app.send('GET', '/health')).status, 200)
  assert.equal((await app.send('GET', '/api/v1/me')).status, 200)
  assert.equal((await stranger.get('/app/links')).status, 200)
  assert.equal((await browser.post('/app/slow')).status, 200)
  assert.equal(rendering.now, concurrencyPerKey)
  rendering.release()
  for (const { status } of await Promise.all(served)) assert.equal(status, 200)
})

test('serves styles and scripts under overload, because a page that was served needs all of them', async (t) => {
  const app = await startApp()
  const browser = await signedIn(app)
  t.mock.method(Overload.prototype, 'refusal', () => overloaded('The server is overloaded.'))
  for (const name of ['app.css', 'app.js', 'forms.js']) {
    assert.equal((await browser.get(`${assetFolder}/${name}`, { seesOverload: true })).status, 200, name)
  }
  const { status, page } = await browser.get('/app/links', { seesOverload: true })
  assert.deepEqual([status, page.heading], [503, 'Overloaded'])
})

test('does not render pages for clients that left while they waited', async () => {
  const app = await startApp()
  const rendering = slowPage(app)
  const browser = await signedIn(app)
  const served = ask(browser, concurrencyPerKey)
  await eventually(() => rendering.now === concurrencyPerKey)
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const left = Array.from({ length: 5 }, () => connect(app.port, '127.0.0.1'))
  for (const socket of left) socket.write(`GET /app/slow HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${cookie}\r\n\r\n`)
  await eventually(() => app.measured.counts.underWay === served.length + left.length)
  for (const socket of left) {
    socket.destroy()
    await once(socket, 'close')
  }
  const last = browser.get('/app/slow')
  // After reading a later request, the server knows about closed connections.
  await eventually(() => app.measured.counts.underWay === served.length + left.length + 1)
  rendering.release()
  for (const { status } of await Promise.all([...served, last])) assert.equal(status, 200)
  assert.equal(rendering.begun, served.length + 1)
  await eventually(() => app.measured.counts.underWay === 0)
})
