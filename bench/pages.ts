/**
 * `npm run bench:pages`: response times of dashboard pages with a million links, and rendering times in a browser on a slow
 * machine. See README.md in this folder.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openStorage } from '../src/storage/open.ts'
import { launchChromium } from '../test/chromium.ts'
import { storeDemo } from '../test/demo.ts'
import { newDatabase } from '../test/processes.ts'
import { startServer } from '../test/waymark.ts'
import { signedIn } from './call.ts'
import { seededCopy } from './seed.ts'
import { Server } from './servers.ts'

const records = Number(process.argv[2] ?? 1_000_000)
const requests = 300
const rounds = 7
/** The browser's CPU is slower than this machine's by this factor. */
const slowdown = 4
/** Milliseconds of observation after the page has loaded. */
const watched = 1_000

const works: (() => unknown)[] = []
const run = { after: (work: () => unknown) => void works.push(work) }
/** Measures pages one after the other. */
async function serverTimes(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-pages-'))
  run.after(() => rmSync(folder, { recursive: true, force: true }))
  const seed = await seededCopy('links', records, folder, (line) => process.stderr.write(`${line}\n`))
  const server = await Server.waymark(seed)
  run.after(() => server.stop())
  const origin = `http://127.0.0.1:${server.ports.api[0]}`
  const cookie = await signedIn(origin, seed.secret)
  print(['page', 'records', 'p50 ms', 'p99 ms', 'longest tick, ms', 'CPU ms', 'KB'])
  for (const path of ['/app/links', '/app/links?page=40', '/app/links?sort_by=clicks&sort=desc', '/app']) {
    const one = async () => {
      const begun = performance.now()
      const answer = await fetch(origin + path, { headers: { cookie } })
      const body = await answer.text()
      if (answer.status !== 200) throw new Error(`${path} is answered with ${answer.status}.`)
      return { took: performance.now() - begun, bytes: body.length }
    }
    for (let warm = 0; warm < 30; warm++) await one()
    const before = await server.usage()
    const all: Awaited<ReturnType<typeof one>>[] = []
    while (all.length < requests) all.push(await one())
    const { cpu, longestTick } = await server.usage()
    const took = all.map((each) => each.took).sort((a, b) => a - b)
    const at = (share: number) => (took[Math.floor(share * took.length)] ?? Number.NaN).toFixed(1)
    const used = (cpu - before.cpu) / requests / 1_000
    print([
      path,
      `${records}`,
      at(0.5),
      at(0.99),
      longestTick.toFixed(1),
      used.toFixed(1),
      `${Math.round((all[0]?.bytes ?? 0) / 1_000)}`,
    ])
  }
}

/** Measures an account with 40 links and two months of clicks, with an empty browser cache. */
async function browserTimes(): Promise<void> {
  const { path, variables } = newDatabase(run)
  const server = await startServer(run, { ...variables, RATE_LIMIT: '0', LOG_LEVEL: 'warn' })
  const storage = await openStorage({ engine: 'sqlite', path })
  const me = await server.send('GET', '/api/v1/me')
  await storeDemo({
    stored: async (path, json) => (await server.send('POST', `/api/v1${path}`, { json })).body.data,
    db: storage,
    account: me.body.data.account.id,
  })
  await storage.close()
  const cookie = await signedIn(server.url, server.key)
  const browser = await launchChromium()
  run.after(() => browser.close())
  print(['page', 'largest paint ms', 'blocking ms', 'layout shift'])
  for (const path of ['/app', '/app/links', '/app/links/1']) {
    const all: Vitals[] = []
    while (all.length < rounds) all.push(await vitalsOf(browser, server.url + path, cookie))
    const median = (name: keyof Vitals) =>
      all.map((each) => each[name]).sort((a, b) => a - b)[rounds >> 1] ?? Number.NaN
    print([path, median('paint').toFixed(0), median('blocking').toFixed(0), median('shift').toFixed(3)])
  }
}

interface Vitals {
  /** Milliseconds from the start of the navigation to the largest paint. */
  readonly paint: number
  /** Milliseconds of tasks beyond 50 ms each, after the first paint. */
  readonly blocking: number
  readonly shift: number
}

async function vitalsOf(browser: Browser, address: string, cookie: string): Promise<Vitals> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const [name = '', value = ''] = cookie.split('=')
  await context.addCookies([{ name, value, url: address }])
  const page = await context.newPage()
  await page.addInitScript(observe)
  const tools = await context.newCDPSession(page)
  await tools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  await page.goto(address)
  await page.waitForTimeout(watched)
  const vitals = await readVitals(page)
  await context.close()
  return vitals
}

/** As https://web.dev/articles/vitals defines them. */
const observe = `
  window.seen = { paint: 0, shift: 0, tasks: [] }
  const watch = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true })
  watch('largest-contentful-paint', ({ startTime }) => { seen.paint = startTime })
  watch('layout-shift', ({ value }) => { seen.shift += value })
  watch('longtask', ({ startTime, duration }) => seen.tasks.push([startTime, duration]))`

function readVitals(page: Page): Promise<Vitals> {
  return page.evaluate(`(() => {
    const first = performance.getEntriesByName('first-contentful-paint')[0].startTime
    const blocking = seen.tasks
      .filter(([start, duration]) => start + duration > first)
      .reduce((sum, [start, duration]) => sum + Math.max(0, start + duration - Math.max(start, first) - 50), 0)
    return { paint: seen.paint, blocking, shift: seen.shift }
  })()`)
}

function print(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}

try {
  await serverTimes()
  await browserTimes()
} finally {
  for (const work of works.reverse()) await work()
}
