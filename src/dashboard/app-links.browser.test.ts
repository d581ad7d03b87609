/** The files of apps on the page and in the form of a domain, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { browserForTests, findings, phone, shoot, signIn, skip } from '../../test/dashboard-browser.ts'
import { storeCheck } from '../reachability/store.ts'

const openWindow = browserForTests()
const app = await startApp()

for (const [width, options] of [
  [390, phone()],
  [1280, {}],
] as const) {
  test(`people set, fix and check the files on a screen of ${width} pixels, with and without scripts`, {
    skip,
  }, async () => {
    const name = `files-of-apps-${width}.localhost`
    const { id } = await app.stored('/domains', { name })
    for (const javaScriptEnabled of [true, false]) {
      const { page, complaints } = await openWindow({ ...options, javaScriptEnabled })
      await signIn(app, page, `/app/domains/${id}/edit`)
      const check = async (shot: string) => {
        await shoot(page, `${width}-app-links-${shot}`)
        if (!javaScriptEnabled) return
        assert.deepEqual(await findings(page), [])
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width)
      }
      await page.locator('summary', { hasText: 'App links' }).click()
      const android = page.getByLabel('Android app links')
      await android.fill(`[\n  {"include": "https://acme.com/${'a'.repeat(200)}.json"},\n]`)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText(/can’t be read at line 3, column 1: unexpected \]/).waitFor()
      assert.ok(await android.isVisible())
      await check('error')
      await android.fill(`[\n  {"include": "https://acme.com/${String(javaScriptEnabled)}.json"}\n]`)
      await page.getByRole('button', { name: 'Save' }).click()
      const section = page.locator('#app-links')
      await section.getByText('Not checked').waitFor()
      await section.getByRole('button', { name: 'Check app links' }).click()
      await section.getByText('Not served').waitFor()
      const files = { '.well-known/assetlinks.json': 'served' } as const
      await storeCheck(app.storage, app.account, id, { answer: 'here', records: 'no records', files })
      await page.reload()
      await section.getByText('Served', { exact: true }).waitFor()
      await check('served')
      await page.goto(`${app.origin}/app/domains/${id}/edit`)
      await page.locator('summary', { hasText: 'App links Android app links' }).waitFor()
      assert.deepEqual(complaints, [])
    }
  })
}
