/** The dashboard in a real browser: what the tests of its pages share. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { insertLoginToken } from '../src/sessions/store.ts'
import { signInUrl } from '../src/sessions/token.ts'
import { startApp, type TestApp } from './app.ts'
import { launchChromium, whyNoChromium } from './chromium.ts'
import type { Json } from './client.ts'
import { type Stored, storeDemo } from './demo.ts'

/** Why there is no browser; false where there is one. */
export const skip = whyNoChromium() ?? false

/** The folder of pictures of the last run. */
export const shots = fileURLToPath(new URL('../node_modules/.cache/waymark-shots', import.meta.url))

/** Not that of a program: its visits are clicks of a person. */
const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36'
/** Without pages that fade into each other, which takes as long as all the rest. */
const usualWindow = { userAgent, viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' } as const
/** A page that says 422 is none that failed, and somebody may be faster than the page. */
const usual = /^Failed to load resource: .* 4\d\d|^Autofocus processing was blocked/
const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** A desktop and a phone, each in another color scheme. Pages on the desktop fade into each other. */
export const screens = [
  { name: '1280-light', options: { colorScheme: 'light', reducedMotion: 'no-preference' } },
  { name: '390-dark', options: { colorScheme: 'dark', reducedMotion: 'reduce', ...phone() } },
] as const

/** A phone of this width, in CSS pixels. */
export function phone(width = 390): BrowserContextOptions {
  return { viewport: { width, height: 844 }, hasTouch: true, isMobile: true }
}

/** A window with one page, and what went on behind it. */
export interface Window {
  readonly context: BrowserContext
  readonly page: Page
  /** What the browser complained of: errors of scripts, what the policy of the pages forbids. */
  readonly complaints: string[]
  /** All that was asked for. */
  readonly requests: URL[]
}

/** A browser for the tests of a file; returns what opens a window, which ends with its test. */
export function browserForTests(): (options?: BrowserContextOptions) => Promise<Window> {
  let browser: Browser
  before(async () => {
    if (!skip) browser = await launchChromium()
  })
  afterEach(() => Promise.all((browser?.contexts() ?? []).map((context) => context.close())))
  after(() => browser?.close())
  return async (options = {}) => {
    const context = await browser.newContext({ ...usualWindow, ...options })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    const complaints: string[] = []
    const requests: URL[] = []
    page.on('pageerror', ({ message }) => {
      // What a browser says when the next page comes before the last one has faded.
      if (!/^Transition was (skipped|aborted)/.test(message)) complaints.push(message)
    })
    page.on('console', (message) => {
      if (!usual.test(message.text())) complaints.push(message.text())
    })
    page.on('request', (request) => void requests.push(new URL(request.url())))
    return { context, page, complaints, requests }
  }
}

/** Opens a sign-in link of the app's account, as `waymark login-link` prints it. */
export async function signIn({ origin, storage, account }: TestApp, page: Page): Promise<void> {
  await page.goto(signInUrl(origin, await insertLoginToken(storage, account)))
  await page.waitForURL(`${origin}/app`)
}

/** An app with two months of links and clicks. */
export async function demoApp(): Promise<TestApp> {
  const app = await startApp()
  await storeDemo({ stored: storedIn(app), db: app.storage, account: app.account })
  return app
}

/** Stores records through the API of the app. */
export function storedIn(app: TestApp): Stored {
  return async (path: string, json: Json) => {
    const { status, body, text } = await app.send('POST', `/api/v1${path}`, { json })
    assert.equal(status, 201, text)
    return body.data
  }
}

/** What axe finds critical or serious on the page as it is, by all of its rules or those with the tags. */
export async function findings(page: Page, tags?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe)
  const options = JSON.stringify({ resultTypes: ['violations'], ...(tags && { runOnly: tags }) })
  return page.evaluate(`axe.run(${options}).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'critical' || impact === 'serious')
    .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' ')))`)
}

/** Whether the element has the focus. */
export function hasFocus(element: Locator): Promise<boolean> {
  return element.evaluate((found: { matches(selector: string): boolean }) => found.matches(':focus'))
}

/** Follows a link of the navigation, which a phone has in a menu. */
export async function goTo(page: Page, place: string): Promise<void> {
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: place, exact: true })
  if (!(await link.isVisible())) await page.getByRole('button', { name: 'Menu', exact: true }).click()
  await link.click()
  await page.getByRole('heading', { level: 1, name: place }).waitFor()
}

/** Keeps a picture of the page, whole, as a file of the run. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true })
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true, animations: 'disabled' })
}
