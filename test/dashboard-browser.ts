/** Helpers for dashboard tests in a real browser. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, mock } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { Overload } from '../src/http/overload.ts'
import { startApp, type TestApp } from './app.ts'
import { holdChromium, sharedChromium, whyNoChromium } from './chromium.ts'
import { signedInMember } from './dashboard.ts'
import { storeDemo } from './demo.ts'
import type { MemberOptions } from './members.ts'

/** The reason why there is no browser; false if there is one. */
export const skip = whyNoChromium() ?? false

/** The folder for screenshots. */
const shots = fileURLToPath(new URL('../node_modules/.cache/waymark-shots', import.meta.url))

/** A user agent that counts as human. */
const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36'
/** Without view transitions, which take as long as everything else. */
const usualWindow = { userAgent, viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' } as const
/** Expected messages: responses with an error status, and autofocus after the user has moved on. */
const usual = /^Failed to load resource: .* 4\d\d|^Autofocus processing was blocked/
const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

// The app shares its event loop with the tests, which a browser slows down on a busy machine. A rejected script or
// refresh would fail a test that is not about overload.
mock.method(Overload.prototype, 'refusal', () => undefined)

/** Options for a phone of this width, in CSS pixels. */
export function phone(width = 390): BrowserContextOptions {
  return { viewport: { width, height: 844 }, hasTouch: true, isMobile: true }
}

/** A window with one page, its errors and its requests. */
export interface Window {
  readonly context: BrowserContext
  readonly page: Page
  /** Console messages: script errors and policy violations. */
  readonly complaints: string[]
  /** The URLs of all requests. */
  readonly requests: URL[]
}

/** Provides a browser for a test file. Returns a function that opens a window until the end of its test. */
export function browserForTests(): (options?: BrowserContextOptions) => Promise<Window> {
  let browser: Browser
  const release = holdChromium()
  before(async () => {
    if (!skip) browser = await sharedChromium()
  })
  afterEach(() => Promise.all((browser?.contexts() ?? []).map((context) => context.close())))
  after(release)
  return async (options = {}) => {
    const context = await browser.newContext({ ...usualWindow, ...options })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    const complaints: string[] = []
    const requests: URL[] = []
    page.on('pageerror', ({ message }) => {
      // Browsers report a navigation during a view transition.
      if (!/^Transition was (skipped|aborted)/.test(message)) complaints.push(message)
    })
    page.on('console', (message) => {
      if (!usual.test(message.text())) complaints.push(message.text())
    })
    page.on('request', (request) => void requests.push(new URL(request.url())))
    return { context, page, complaints, requests }
  }
}

/** Signs in as a new member, an owner by default, and opens a page. */
export async function signIn(app: TestApp, page: Page, path = '/app', member: MemberOptions = {}): Promise<void> {
  const { cookies } = await signedInMember(app, member)
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url: app.origin })))
  await page.goto(app.origin + path)
}

/** Signs in without scripts, and opens the path. */
export async function signInByKey({ origin, key }: TestApp, page: Page, path: string): Promise<void> {
  await page.goto(origin + path)
  await page.getByText('Use an API key').click()
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in with API key' }).click()
}

/** Returns an app with two months of links and clicks. */
export async function demoApp(): Promise<TestApp> {
  const app = await startApp()
  await storeDemo({ stored: app.stored, db: app.storage, account: app.account })
  return app
}

/** Rules of WCAG 2.2 AA that axe leaves out by default. */
const moreRules = { 'target-size': { enabled: true } }

/** Returns the issues that axe reports, by all rules or only by these rules. */
export async function findings(page: Page, runOnly?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) {
    // Half the time of `page.evaluate`, which compiles the text as an argument of another function.
    const session = await page.context().newCDPSession(page)
    await session.send('Runtime.evaluate', { expression: axe })
    await session.detach()
  }
  const chosen = runOnly ? { runOnly } : { rules: moreRules }
  const options = JSON.stringify({ resultTypes: ['violations'], ...chosen })
  return page.evaluate(`axe.run(${options}).then(({ violations }) => violations
    .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' ')))`)
}

/** Returns whether the element has the focus. */
export function hasFocus(element: Locator): Promise<boolean> {
  return element.evaluate((found: { matches(selector: string): boolean }) => found.matches(':focus'))
}

/** Opens a page through the navigation, which phones show as a menu. */
export async function goTo(page: Page, place: string): Promise<void> {
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: place, exact: true })
  if (!(await link.isVisible())) await page.getByRole('button', { name: 'Menu', exact: true }).click()
  await link.click()
  await page.getByRole('heading', { level: 1, name: place }).waitFor()
}

/** Stores a screenshot of the whole page with `SCREENSHOTS=1` in the environment, because it takes longer than most tests. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS !== '1') return
  mkdirSync(shots, { recursive: true })
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true, animations: 'disabled' })
}
