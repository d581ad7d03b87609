/** Deletions in the dashboard: their figures, the text that people type from 100 links on, and permanent deletions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import { newOwner } from '../dashboard.ts'

const app = await startApp()

/** Returns an account whose space Sales and tag Sale have this many links. */
async function withLinks(count: number) {
  const { browser, ...own } = await newOwner(app)
  const space = await own.stored('/spaces', { name: 'Sales' })
  const links = Array.from({ length: count }, () => ({
    url: 'https://acme.com/',
    domain_id: own.domain.id,
    space_id: space.id,
    tags: ['Sale'],
  }))
  if (count > 0) assert.ok((await own.send('POST', '/links/bulk', { json: { links } })).status < 300)
  const [tag] = (await own.send('GET', '/tags')).body.data
  return { ...own, browser, space, tag }
}

type Place = Awaited<ReturnType<typeof withLinks>>

/** Checks that a form needs the typed text, in any case, and sends it. */
async function confirmTyped({ browser }: Place, path: string, name: string, more = {}) {
  const asked = await browser.open(path)
  assert.match(asked.text, new RegExp(`Type ${name} to confirm`))
  for (const typed of ['', 'other']) {
    const { status, page } = await browser.submit(asked, path, { ...more, name: typed })
    assert.deepEqual([status, page.heading], [422, asked.heading])
    assert.match(page.errorOf('name'), new RegExp(`Type ${name} to confirm\\.`))
  }
  assert.equal((await browser.submit(asked, path, { ...more, name: ` ${name.toUpperCase()} ` })).status, 303)
}

test('asks for the name when a space or a tag has 100 links or more, with its figures', async () => {
  const place = await withLinks(100)
  const { space, tag, send, browser } = place
  const path = `/app/spaces/${space.id}/delete`
  assert.match(
    (await browser.open(path)).text,
    /Its 100 links will keep working without a space\.\s*It had 0 clicks in the last 30 days\./,
  )
  await confirmTyped(place, path, 'Sales')
  assert.match((await browser.open(`/app/tags/${tag.id}/delete`)).text, /Its 100 links had 0 clicks in the last 30/)
  await confirmTyped(place, `/app/tags/${tag.id}/delete`, 'Sale')
  assert.deepEqual((await send('GET', '/tags')).body.data, [])
})

test('asks for the name of a merged tag from 100 links on', async () => {
  const place = await withLinks(100)
  const { tag, stored, send } = place
  await stored('/tags', { name: 'Into' })
  await confirmTyped(place, `/app/tags/${tag.id}/merge`, 'Sale', { into: 'Into' })
  assert.equal((await send('GET', '/tags')).body.data[0].links, 100)
})

test('asks for no name when a space or a tag has 99 links', async () => {
  const { browser, space, tag } = await withLinks(99)
  for (const path of [`/app/spaces/${space.id}`, `/app/tags/${tag.id}`]) {
    const asked = await browser.open(`${path}/delete`)
    assert.doesNotMatch(asked.text, /to confirm/)
    assert.equal((await browser.submit(asked, `${path}/delete`)).status, 303)
  }
})

test('asks for the number of selected links from 100 on', async () => {
  const { browser, send } = await withLinks(100)
  const selected = '/app/links/selected'
  const { page: asked } = await browser.post(selected, { what: 'delete', matching: '1', next: '/app/links' })
  assert.match(asked.text, /They had 0 clicks in the last 30 days\..*Type 100 to confirm/)
  for (const name of ['', '99', '1000']) {
    const { status, page } = await browser.submit(asked, selected, { name })
    assert.deepEqual([status, page.heading], [422, 'Delete 100 links?'])
    assert.match(page.errorOf('name'), /Type 100 to confirm\./)
  }
  assert.match(
    (await browser.after(await browser.submit(asked, selected, { name: '100' }))).said.join(),
    /^Deleted 100 links\./,
  )
  assert.deepEqual((await send('GET', '/links')).body.data, [])
})

for (const kind of ['link', 'domain', 'space', 'tag'] as const) {
  test(`deletes a ${kind} permanently if the box is checked, and otherwise so that it can be restored`, async () => {
    const { browser, ...own } = await newOwner(app)
    for (const isPermanent of [false, true]) {
      const name = `go-${isPermanent}.${own.domain.name}`
      const { id } = kind === 'link' ? await own.link() : await own.stored(`/${kind}s`, { name })
      const path = `/app/${kind}s/${id}/delete`
      const asked = await browser.open(path)
      assert.match(asked.text, /You can undo this in the history for 30 days\..*It can’t be restored, /)
      assert.equal(asked.form(path).permanently, undefined)
      const typed = kind === 'domain' ? { name } : {}
      const wrong = await browser.submit(asked, path, { ...typed, permanently: 'perhaps' })
      assert.equal(wrong.status, 422)
      const sent = await browser.submit(asked, path, { ...typed, ...(isPermanent && { permanently: 'true' }) })
      const [said = ''] = (await browser.after(sent)).said
      assert.match(said, isPermanent ? /^Deleted .* permanently\./ : /^Deleted \S.*(?<!permanently)\./)
      assert.equal(/Undo/.test(said), !isPermanent)
      const [event] = (await own.send('GET', `/events?type=${kind}.deleted&record=${kind}&record_id=${id}`)).body.data
      assert.equal(event.changes === null, isPermanent)
      assert.equal((await own.send('POST', `/events/${event.id}/undo`)).status, isPermanent ? 409 : 200)
    }
  })
}
