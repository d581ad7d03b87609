/** Width, weight, touch targets and motion of every page in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserForTests, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'
import { fullApp, paths } from '../../test/dashboard-pages.ts'

const openWindow = browserForTests()
/** Tests only read it. */
const app = await fullApp()

async function signedIn(options: Parameters<typeof openWindow>[0] = {}) {
  const opened = await openWindow(options)
  await signIn(app, opened.page)
  return opened
}

test('no page is wider than the screen, from 320 pixels (400 % of 1280) to 1920', { skip }, async () => {
  const { page } = await signedIn()
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(app.origin + path)
    for (const width of [320, 390, 768, 1280, 1920]) {
      await page.setViewportSize({ width, height: width === 320 ? 256 : 900 })
      const { scrollWidth, innerWidth } = await measured(page)
      assert.ok(scrollWidth <= innerWidth, `${path} is ${scrollWidth} wide on ${innerWidth}`)
      if (width === 320) await shoot(page, `${width}-light-page-${name}`)
    }
  }
})

function measured(page: Page): Promise<{ scrollWidth: number; innerWidth: number }> {
  return page.evaluate('({ scrollWidth: document.documentElement.scrollWidth, innerWidth })')
}

test('transfers less than 60 KB for the first page, and at most 100 KB for any page', { skip }, async () => {
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

test('touch targets are 44 pixels high', { skip }, async () => {
  const { page } = await signedIn(phone())
  const low: string[] = []
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(app.origin + path)
    await shoot(page, `390-light-page-${name}`)
    for (const target of await page.evaluate<string[]>(lowTargets)) low.push(`${path}: ${target}`)
  }
  assert.deepEqual(low, [])
})

/** Excludes links inside a sentence, boxes with a large label, and links that cover their row. */
const lowTargets = `[...document.querySelectorAll('a, button, input, select, summary')].flatMap((element) => {
  const isRow = getComputedStyle(element, '::after').position === 'absolute'
  const pressed = isRow ? element.closest('tr') : /^(checkbox|radio)$/.test(element.type) ? element.labels[0] : element
  const { height, width } = pressed.getBoundingClientRect()
  const isShown = element.checkVisibility({ visibilityProperty: true }) && element.type !== 'hidden' && width > 1
  const isText = element.matches('p a')
  return !isShown || isText || element.matches('a[href="#main"]') || height >= 43.5 ? [] : [element.outerHTML.slice(0, 200) + ' ' + height]
})`

test('respects reduced motion, and shows the current page with forced colors', { skip }, async () => {
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

test('prints figures and dates without controls', { skip }, async () => {
  const { page } = await signedIn()
  await page.emulateMedia({ media: 'print' })
  for (const name of ['overview', 'links', 'link']) {
    await page.goto(app.origin + paths[name])
    const pressed = page
      .locator('button:not(.periods button), select, input, summary, a.button, nav')
      .locator('visible=true')
    assert.equal(await pressed.count(), 0, name)
  }
  assert.equal(await page.locator('.periods [popovertarget]').isVisible(), true)
  assert.equal(await page.evaluate('getComputedStyle(document.documentElement).backgroundImage'), 'none')
})
