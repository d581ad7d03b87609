/** Every page in a real browser: what axe finds, how wide it gets, what it weighs, and what it asks for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startApp, type TestApp } from '../../test/app.ts'
import {
  browserForTests,
  demoApp,
  findings,
  phone,
  shoot,
  signIn,
  skip,
  storedIn,
} from '../../test/dashboard-browser.ts'

const openWindow = browserForTests()

/** All pages, on an account that has 43 links and records with odd names; the last link is the oddest. */
const paths: Readonly<Record<string, string>> = {
  overview: '/app',
  'overview-year': '/app?period=12m',
  links: '/app/links',
  'links-odd': '/app/links?search=odd',
  'links-none': '/app/links?search=nothing+like+it&status=expired',
  'link-new': '/app/links/new',
  link: '/app/links/1',
  'link-odd': '/app/links/43',
  'link-delete': '/app/links/43/delete',
  domains: '/app/domains',
  'domain-new': '/app/domains/new',
  domain: '/app/domains/1',
  'domain-delete': '/app/domains/1/delete',
  spaces: '/app/spaces',
  'space-new': '/app/spaces/new',
  'space-odd': '/app/spaces/6',
  keys: '/app/keys',
  'key-new': '/app/keys/new',
  'key-revoke': '/app/keys/1/revoke',
  sessions: '/app/sessions',
  about: '/app/about',
  'not-found': '/app/nothing',
}
const empty = ['/app', '/app/links', '/app/links/new', '/app/domains', '/app/spaces', '/app/keys']

/** The same for all tests of this file, none of which changes it. */
const app = await demoApp()
await storeOddities(app)

/** Names as long as they may be, from right to left, and in pictures. */
async function storeOddities(app: TestApp): Promise<void> {
  const stored = storedIn(app)
  const long = 'ä'.repeat(255)
  const label = `${'x'.repeat(60)}.`
  const { id: domain_id } = await stored('/domains', { name: `${label.repeat(3)}example.com` })
  for (const [name, alias] of [
    [long, 'x'.repeat(128)],
    ['מבצע קיץ של החברה', 'קיץ-odd'],
    ['👩‍👩‍👧‍👦 Sommer 🏖️', '🏖️odd'],
  ] as const) {
    const { id: space_id } = await stored('/spaces', { name, color: 5 })
    const url = `https://acme.com/${'path/'.repeat(300)}?q=${encodeURIComponent(name)}`
    await stored('/links', { alias, url, title: `odd ${name}`.slice(0, 255), space_id, domain_id })
  }
}

async function signedIn(options: Parameters<typeof openWindow>[0] = {}) {
  const opened = await openWindow(options)
  await signIn(app, opened.page)
  return opened
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`${colorScheme}: axe finds nothing serious on any page, and the browser complains of none`, {
    skip,
  }, async () => {
    const { page, complaints, requests } = await signedIn({ colorScheme })
    for (const [name, path] of Object.entries(paths)) {
      await page.goto(app.origin + path)
      assert.deepEqual(await findings(page), [], path)
      if (colorScheme === 'dark') await shoot(page, `1280-dark-page-${name}`)
    }
    assert.deepEqual(complaints, [])
    assert.deepEqual(
      requests.filter(({ origin }) => origin !== app.origin),
      [],
    )
  })
}

test('axe finds nothing serious where there is nothing yet, and where there is one thing', { skip }, async () => {
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

test('no page is wider than the screen, from 320 pixels (400 % of 1280) to 1920', { skip }, async () => {
  const { page } = await signedIn()
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(app.origin + path)
    for (const width of [320, 390, 768, 1280, 1920]) {
      await page.setViewportSize({ width, height: width === 320 ? 256 : 900 })
      const { scrollWidth, innerWidth } = await measured(page)
      assert.ok(scrollWidth <= innerWidth, `${path} is ${scrollWidth} wide on ${innerWidth}`)
      if (width === 320 || width === 768) await shoot(page, `${width}-light-page-${name}`)
    }
  }
})

function measured(page: Page): Promise<{ scrollWidth: number; innerWidth: number }> {
  return page.evaluate('({ scrollWidth: document.documentElement.scrollWidth, innerWidth })')
}

test('the first page takes less than 60 KB over the wire, and no page more than 100 KB', { skip }, async () => {
  for (const [path, most] of [
    ['/app', 60_000],
    ['/app/links', 60_000],
    ['/app/links?per_page=100', 100_000],
    ['/app/links/1', 100_000],
    ['/app/links/new', 100_000],
  ] as const) {
    const { page, context } = await signedIn()
    const network = await context.newCDPSession(page)
    await network.send('Network.enable')
    await network.send('Network.setCacheDisabled', { cacheDisabled: true })
    let bytes = 0
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(app.origin + path, { waitUntil: 'networkidle' })
    assert.ok(bytes > 5_000 && bytes < most, `${path} takes ${bytes} bytes`)
  }
})

test('on a touch screen, what is pressed is 44 pixels high', { skip }, async () => {
  const { page } = await signedIn(phone())
  const low: string[] = []
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(app.origin + path)
    await shoot(page, `390-light-page-${name}`)
    for (const target of await page.evaluate<string[]>(lowTargets)) low.push(`${path}: ${target}`)
  }
  assert.deepEqual(low, [])
})

/** Links within a sentence or a cell are as high as their text; boxes are pressed on their labels, some links on their row. */
const lowTargets = `[...document.querySelectorAll('a, button, input, select, summary')].flatMap((element) => {
  const isRow = getComputedStyle(element, '::after').position === 'absolute'
  const pressed = isRow ? element.closest('tr') : /^(checkbox|radio)$/.test(element.type) ? element.labels[0] : element
  const { height, width } = pressed.getBoundingClientRect()
  const isShown = element.checkVisibility({ visibilityProperty: true }) && element.type !== 'hidden' && width > 1
  const isText = !isRow && element.matches('a') && getComputedStyle(element).display === 'inline'
  return !isShown || isText || element.matches('a[href="#main"]') || height >= 43.5 ? [] : [element.outerHTML.slice(0, 200) + ' ' + height]
})`

test('nothing moves for those who want no motion, and forced colours show where one is', { skip }, async () => {
  const { page } = await signedIn({ reducedMotion: 'reduce', forcedColors: 'active' })
  for (const name of ['overview', 'links', 'link', 'space-odd']) {
    await page.goto(app.origin + paths[name])
    await shoot(page, `1280-forced-page-${name}`)
    const moving = await page.evaluate(`[...document.querySelectorAll('*')].filter((element) =>
      [null, '::before', '::after'].some((part) => {
        const { transitionDuration, animationDuration } = getComputedStyle(element, part)
        return [transitionDuration, animationDuration].some((time) => time.split(', ').some((each) => parseFloat(each) > 0))
      })).length`)
    assert.equal(moving, 0)
    const outline = await page.evaluate('getComputedStyle(document.querySelector("nav [aria-current]")).outlineStyle')
    assert.equal(outline, 'solid')
  }
})
