/** Moving in from Bitly, from the file to the check of the old links, in a real browser. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import {
  browserForTests,
  findings,
  hasFocus,
  phone,
  shoot,
  signIn,
  signInByKey,
  skip,
} from '../../test/dashboard-browser.ts'
import { listenOn } from '../../test/servers.ts'
import { addJob, cancelJob } from '../jobs/store.ts'
import { query } from '../storage/schema.ts'

const openWindow = browserForTests()
const [links, host] = [300, 'sip.example']

/** Starts a server like Bitly's, where one of the links has gone elsewhere. */
async function startOld(t: TestContext) {
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(301, { location: url === '/tea-7' ? 'https://elsewhere.example/' : `https://tea.example${url}` })
    response.end()
  })
  const port = await listenOn(t, server)
  return new Map([[host, { address: '127.0.0.1', port }]])
}

const rows = Array.from(
  { length: links },
  (_, n) =>
    `https://bit.ly/4k${n},https://${host}/tea-${n},https://tea.example/tea-${n},Tea ${n},${n},2024-01-02T03:04:05+0000`,
)
const file = {
  name: 'bitly.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(['Link,Custom Link,Destination URL,Title,Engagements,Date created', ...rows].join('\n')),
}

for (const [width, options] of [
  [1280, {}],
  [390, phone()],
] as const) {
  test(`moves ${links} links in from Bitly, and proves them, at ${width} px`, { skip }, async (t) => {
    const app = await startApp({ proofHosts: await startOld(t) })
    await app.send('POST', '/api/v1/domains', { json: { name: host } })
    const { page, complaints } = await openWindow(options)
    const check = async (step: string) => {
      const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
      assert.equal(isWide, false, step)
      assert.deepEqual(await findings(page), [], step)
      await shoot(page, `import-${step}-${width}`)
    }
    await signIn(app, page, '/app/links')
    await page.getByRole('link', { name: 'Import', exact: true }).click()
    await check('file')
    await page.getByLabel('File', { exact: true }).setInputFiles(file)
    await page.getByRole('button', { name: 'Read the file' }).click()
    // Addresses on a host of the service are left out, because the rows have others.
    await page.getByRole('heading', { name: `First 10 of ${links} links` }).waitFor()
    await check('plan')
    const start = page.getByRole('button', { name: `Import ${links} links` })
    await start.focus()
    assert.ok(await hasFocus(start))
    await page.keyboard.press('Enter')
    // Without a reload: the script sees the end of the import.
    await page.getByText(/^Imported/).waitFor()
    await check('result')
    await page.getByRole('button', { name: 'Check the old links' }).click()
    await page.getByText(/^Addresses checked:/).waitFor()
    await check('running')
    assert.deepEqual(complaints, [])
    const { body } = await app.send('GET', '/api/v1/imports/1')
    assert.deepEqual(
      [body.data.state, body.data.outcomes.store, body.data.clicks],
      ['applied', links, (links * (links - 1)) / 2],
    )
  })
}

test('shows differences when the check of the old links ends, without a reload', { skip }, async (t) => {
  const app = await startApp({ proofHosts: await startOld(t) })
  await app.send('POST', '/api/v1/domains', { json: { name: host } })
  const { page, complaints } = await openWindow()
  await signIn(app, page, '/app/import')
  const own = [6, 7].map((n) => `https://${host}/tea-${n},https://tea.example/tea-${n}`)
  await page.getByLabel('Or paste rows').fill(['short_url,url', ...own].join('\n'))
  await page.getByRole('button', { name: 'Read the file' }).click()
  await page.getByRole('button', { name: 'Import 2 links' }).click()
  await page.getByRole('button', { name: 'Check the old links' }).click()
  const row = page.getByRole('row', { name: `${host}/tea-7` })
  await row.waitFor()
  assert.match(await row.innerText(), /301 elsewhere\.example[\s\S]*302 tea\.example\/tea-7/)
  assert.deepEqual(await findings(page), [])
  await shoot(page, 'import-differences-1280')
  assert.deepEqual(complaints, [])
})

test('imports without scripts, and loads the page again while the work continues', { skip }, async () => {
  const app = await startApp()
  await app.send('POST', '/api/v1/domains', { json: { name: host } })
  const { page } = await openWindow({ javaScriptEnabled: false })
  await signInByKey(app, page, '/app/import')
  await page.getByLabel('File', { exact: true }).setInputFiles(file)
  await page.getByRole('button', { name: 'Read the file' }).click()
  await page.getByRole('button', { name: `Import ${links} links` }).click()
  await page.getByText(/^Imported/).waitFor()
  await page.getByRole('link', { name: 'Undo import' }).click()
  await page.getByRole('button', { name: 'Undo import' }).click()
  await page.getByText('The import is undone.').waitFor()
})

test('shows how a file is read, then its plan, or why it has none', { skip }, async () => {
  const app = await startApp()
  const { page } = await openWindow()
  await signIn(app, page, '/app/links')
  await app.send('POST', '/api/v1/domains', { json: { name: host } })
  const headers = { 'content-type': 'text/csv' }
  const { body } = await app.send('POST', '/api/v1/imports?domain_map=bit.ly=-', {
    body: file.buffer.toString(),
    headers,
  })
  const own = query.updateTable('imports').where('id', '=', body.data.id)
  const plan = { record: 'import', record_id: body.data.id } as const
  const read = async () => {
    await app.storage.execute(own.set({ state: 'planning' }))
    await addJob(app.storage, { ...plan, kind: 'plan', account: null, token: 'other' })
    const long = query.updateTable('jobs').set({ free_at_ms: Date.now() + 600_000 })
    await app.storage.execute(long.where('token', '=', 'other'))
  }
  await read()
  await page.goto(new URL(`/app/import/${body.data.id}`, page.url()).href)
  await page.getByText(`Rows read: ${links}`).waitFor()
  assert.deepEqual(await findings(page), [])
  await app.storage.execute(own.set({ state: 'planned' }))
  await cancelJob(app.storage, plan)
  // The script loads the other page.
  await page.getByRole('heading', { name: `First 10 of ${links} links` }).waitFor()
  await read()
  await page.reload()
  await page.getByText(`Rows read: ${links}`).waitFor()
  const error = JSON.stringify({ code: 'malformed_body', message: 'Line 3 ends early.' })
  await app.storage.execute(own.set({ state: 'failed', error }))
  await cancelJob(app.storage, plan)
  await page.getByText('The file can’t be imported. Line 3 ends early.').waitFor()
  assert.deepEqual(await findings(page), [])
})

test('stacks the warnings of a row at 390 px', { skip }, async () => {
  const app = await startApp()
  await app.send('POST', '/api/v1/domains', { json: { name: host } })
  const { page } = await openWindow(phone())
  await signIn(app, page, '/app/import')
  await page.getByLabel('Or paste rows').fill(`short_url,url,title\nhttps://${host}/tea,https://tea.con/,CafÃ©`)
  await page.getByRole('button', { name: 'Read the file' }).click()
  const isStacked = async (step: string) => {
    const [typo, encoding] = ['Check the destination', 'It probably means'].map((text) => page.getByText(text))
    const [above, below] = [await typo?.boundingBox(), await encoding?.boundingBox()]
    assert.ok(above && below && below.y >= above.y + above.height, step)
    assert.deepEqual(await findings(page), [], step)
    await shoot(page, `import-warnings-${step}-390`)
  }
  await page.getByText('It probably means').waitFor()
  await isStacked('plan')
  await page.getByRole('button', { name: 'Import 1 link' }).click()
  await page.getByText(/^Imported/).waitFor()
  await isStacked('result')
})
