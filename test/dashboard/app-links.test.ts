/** The files of apps in the dashboard: their fields, the check of their URLs, and the history. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeCheck } from '../../src/reachability/store.ts'
import { startApp } from '../app.ts'
import { newOwner, signedIn } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'

const app = await startApp()
const apple = '{\n  "applinks": {"details": []}\n}'
const statements = '[{"include": "https://acme.com/a.json"}]'

async function place() {
  const own = await newOwner(app)
  const path = `/app/domains/${own.domain.id}`
  const record = async () => (await own.send('GET', `/domains/${own.domain.id}`)).body.data
  const save = async (form: Readonly<Record<string, string>>) => {
    const { status } = await own.browser.submit(await own.browser.open(`${path}/edit`), path, form)
    assert.equal(status, 303)
  }
  return { ...own, path, record, save }
}

test('the form has a collapsed section that names the stored files, and stores lines as the API does', async () => {
  const { browser, path, record, save } = await place()
  const section = async () => {
    const { root } = await browser.open(`${path}/edit`)
    const [details] = allOf(root, 'details', { class: 'fold' })
    assert.ok(details)
    assert.equal(details.attributes.has('open'), false)
    return textOf(allOf(details, 'summary')[0] ?? details)
  }
  assert.equal(await section(), 'App links')
  const form = { apple_app_site_association: apple.replaceAll('\n', '\r\n'), asset_links: ` ${statements}\r\n` }
  await save(form)
  assert.partialDeepStrictEqual(await record(), { apple_app_site_association: apple, asset_links: statements })
  assert.equal(await section(), 'App links iOS app links, Android app links')
  const before = (await record()).updated_at
  await save(form)
  assert.equal((await record()).updated_at, before)
  await save({ apple_app_site_association: '' })
  assert.equal((await record()).apple_app_site_association, null)
  assert.equal(await section(), 'App links Android app links')
})

test('the domain page and pages of covered links say that apps open them without a visit', async () => {
  const { browser, link, path, save } = await place()
  const components = [{ '/': '/buy/private', exclude: true }, { '/': '/buy/*' }, { '/': '/?', '?': { a: '1' } }]
  await save({
    apple_app_site_association: JSON.stringify({ applinks: { details: [{ appID: 'T.shop', components }] } }),
  })
  const sentence = (links: string) => `Phones with T.shop open ${links} in the app, so no click is counted. Edit`
  assert.deepEqual((await browser.open(path)).cautions, [sentence('the links that this file covers')])
  for (const [alias, isCovered] of [
    ['buy/tea', true],
    ['buy/private', false],
    ['buy', false],
    ['x', false],
  ] as const) {
    const page = await browser.open(`/app/links/${(await link({ alias })).id}`)
    assert.deepEqual(page.cautions, isCovered ? [sentence('this link')] : [], alias)
    assert.equal(page.links.includes(`${path}/edit#field-apple_app_site_association`), isCovered)
  }
})

test('422 shows the text again with its error and its position, in the open section', async () => {
  const { browser, path } = await place()
  const opened = await browser.open(`${path}/edit`)
  const typed = '\n\n{"applinks": {}},'
  const { status, page } = await browser.submit(opened, path, { apple_app_site_association: typed, asset_links: '{}' })
  assert.equal(status, 422)
  assert.match(page.errorOf('apple_app_site_association'), /“iOS app links” can’t be read at line 3, column 17: unexp/)
  assert.match(
    page.errorOf('asset_links'),
    /“Android app links” must have an array of statements.* at line 1, column 1\./,
  )
  const [details] = allOf(page.root, 'details', { class: 'fold' })
  assert.ok(details)
  assert.ok(details.attributes.has('open'))
  assert.match(textOf(details), /\{"applinks": \{\}\},/)
})

test('the domain page lists the files with the last check, unless the domain was changed since', async () => {
  const { browser, path, domain, account, send } = await place()
  const section = async () => {
    const [found] = allOf((await browser.open(path)).root, 'section', { id: 'app-links' })
    return found === undefined ? undefined : textOf(found)
  }
  assert.equal(await section(), undefined)
  await send('PATCH', `/domains/${domain.id}`, { json: { apple_app_site_association: apple, asset_links: '[]' } })
  assert.match(String(await section()), /association\s*Not checked.*assetlinks\.json\s*Not checked\s*Check app links$/)
  const files = {
    '.well-known/apple-app-site-association': 'redirect',
    '.well-known/assetlinks.json': 'served',
  } as const
  const changedAt = Date.parse((await send('GET', `/domains/${domain.id}`)).body.data.updated_at)
  const result = { answer: 'here', records: 'no records', files } as const
  await storeCheck(app.storage, account, domain.id, result, changedAt)
  assert.match(
    String(await section()),
    new RegExp(
      `https://${domain.name}/\\.well-known/apple-app-site-association.*Not served.*follow no redirects.*assetlinks\\.json.*Served.*again$`,
    ),
  )
  await storeCheck(app.storage, account, domain.id, result, changedAt - 1)
  assert.match(String(await section()), /Not checked.*Not checked/)
})

test('the button checks both URLs without a script, and stores the result', async () => {
  // Only the first account may check private addresses.
  const browser = await signedIn(app)
  const json = { name: 'app-links.localhost', asset_links: '[]' }
  const { id } = (await app.send('POST', '/api/v1/domains', { json })).body.data
  const path = `/app/domains/${id}`
  assert.equal((await browser.submit(await browser.open(path), `${path}/check`)).status, 303)
  const [section] = allOf((await browser.open(path)).root, 'section', { id: 'app-links' })
  assert.ok(section)
  assert.match(textOf(section), /Checked just now\..*Not served\s*(?:No response over HTTPS|The TLS certificate)/)
})

test('the history says what was changed, with both texts, and undoes it', async () => {
  const { browser, send, domain, record } = await place()
  await send('PATCH', `/domains/${domain.id}`, { json: { asset_links: statements } })
  await send('PATCH', `/domains/${domain.id}`, { json: { asset_links: null } })
  const { text } = await browser.open('/app/history')
  assert.match(text, /removed the Android app links of/)
  assert.match(text, /set the Android app links of/)
  assert.ok(text.includes(statements))
  const [event] = (await send('GET', `/events?record=domain&record_id=${domain.id}`)).body.data
  assert.equal((await send('POST', `/events/${event.id}/undo`)).status, 200)
  assert.equal((await record()).asset_links, statements)
})
