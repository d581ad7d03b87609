/**
 * Makes docs/dashboard.png, the picture in README.md: the overview of an account that `test/demo.ts` makes up, in the browser
 * that the tests have.
 */
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openStorage } from '../src/storage/open.ts'
import { launchChromium } from '../test/chromium.ts'
import { storeDemo } from '../test/demo.ts'
import { newDatabase } from '../test/processes.ts'
import { startServer } from '../test/waymark.ts'

const file = fileURLToPath(new URL('../docs/dashboard.png', import.meta.url))
/** Bytes. */
const most = 200_000

const works: (() => unknown)[] = []
try {
  await take({ after: (work) => void works.push(work) })
} finally {
  for (const work of works.reverse()) await work()
}

async function take(run: { after(work: () => unknown): void }): Promise<void> {
  const { path, variables } = newDatabase(run)
  const server = await startServer(run, { ...variables, SHORT_URL: 'https://{domain}', RATE_LIMIT: '0' })
  const me = await server.send('GET', '/api/v1/me')
  const storage = await openStorage({ engine: 'sqlite', path })
  await storeDemo({
    stored: async (path, json) => (await server.send('POST', `/api/v1${path}`, { json })).body.data,
    db: storage,
    account: me.body.data.account.id,
  })
  await storage.close()

  const browser = await launchChromium()
  run.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
  await page.goto(`${server.url}/app`)
  await page.getByText('Use an API key').click()
  await page.getByLabel('API key').fill(server.key)
  await page.getByRole('button', { name: 'Sign in with API key' }).click()
  await page.waitForURL(`${server.url}/app`)
  await page.screenshot({ path: file })
  const { size } = statSync(file)
  process.stdout.write(`${file}: ${size} bytes\n`)
  if (size > most) throw new Error(`The picture is larger than ${most} bytes.`)
}
