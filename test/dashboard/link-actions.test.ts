/** Actions on one link and on selected links, and undo. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, newOwner, type Page, type Visited } from '../dashboard.ts'
import { newEditor, rows, selected } from '../dashboard-links.ts'

const app = await startApp()
const editor = await newEditor(app)
const { browser, shown, ...place } = editor
const withoutTime = ({ updated_at: _, ...link }: Json) => link
const after = (answer: Visited) => browser.after(answer)
const undo = async (page: Page) => (await editor.undo(page)).text

describe('selected links', () => {
  test('stay in their space until a space is chosen', async () => {
    const space = await place.stored('/spaces', { name: 'Kept' })
    const link = await place.link({ space_id: space.id })
    const question = await browser.post(selected, { ...rows(link), what: 'move' })
    assert.deepEqual([question.status, question.page.heading], [200, 'Move 1 link'])
    assert.match(question.page.text, /To a space\s*No space\s*Kept/)
    const { confirmed, what, [`row-${link.id}`]: row } = question.page.form(selected)
    assert.deepEqual([confirmed, what, row], [undefined, 'move', 'on'])
    for (const [form, words] of [
      [{ to: '' }, /Choose a space or domain to move the links to/],
      [{ to: 'space-99999' }, /This space does not exist/],
      [{ to: 'domain-0' }, /Choose a space or domain to move the links to/],
      [{ to: 'x' }, /Choose a space or domain to move the links to/],
    ] as const) {
      const { status, page } = await browser.post(selected, { ...rows(link), what: 'move', ...form })
      assert.deepEqual([status, words.test(page.text)], [422, true], page.text)
    }
    const twice = `row-${link.id}=on&what=move&to=space-0&to=space-0&page_account=${place.account}`
    assert.equal((await browser.post(selected, {}, { form: twice })).status, 422)
    assert.equal((await shown(link)).space_id, space.id)
  })

  test('return to the list with its search, filters, order and page', async () => {
    const link = await place.link()
    const next = '/app/links?search=x&status=active&sort_by=clicks&sort=asc&page=2'
    for (const [path, form] of [
      [selected, { ...rows(link), what: 'disable', next }],
      [`/app/links/${link.id}/enable`, { next }],
      [`/app/links/${link.id}/delete`, { next }],
    ] as const) {
      assert.equal((await browser.post(path, form)).headers.location, next)
    }
    for (const elsewhere of ['//acme.com', 'https://acme.com', '/app', '/app/links/1', '/app/links?/..//acme.com']) {
      const { headers } = await browser.post(selected, { ...rows(link), what: 'disable', next: elsewhere })
      assert.match(String(headers.location), /^\/app\/links(?:\?|$)/, elsewhere)
    }
    const list = await browser.open('/app/links?status=active')
    assert.equal(list.form(selected).next, '/app/links?status=active')
  })

  test('are deleted after a confirmation, whose page keeps the color scheme, as far as they still exist', async () => {
    const [one, two] = [await place.link(), await place.link()]
    const { page } = await browser.post(selected, { ...rows(one, two), what: 'delete' })
    assert.match(page.heading, /Delete 2 links\?/)
    const back = await browser.follow(await browser.submit(page, '/app/scheme', { scheme: 'dark' }))
    assert.equal((await browser.after(back)).heading, 'Links')
    await place.send('DELETE', `/links/${two.id}`)
    const { page: again } = await browser.submit(page, selected)
    assert.match(again.text, /Delete 1 link\?.*The 2 links that you were shown changed in the meantime\./s)
    assert.match(
      (await browser.after(await browser.submit(again, selected))).said.join(),
      /^Deleted \S+\. 1 link couldn’t be changed\. Undo/,
    )
    assert.equal(await shown(one), undefined)
    assert.equal((await browser.post(selected, { ...rows(one, two), what: 'delete' })).headers.location, '/app/links')
  })

  test('are listed in the confirmation, up to five, with clicks and the effect on visitors', async () => {
    const { browser, ...own } = await newOwner(app)
    const homepage = 'https://acme.com/nothing-here'
    const second = await own.stored('/domains', { name: `second.${own.domain.name}`, not_found_url: homepage })
    const here = []
    for (let at = 1; at <= 6; at++) here.push(await own.link({ alias: `many-${at}` }))
    const there = await own.link({ domain_id: second.id })
    const asks = async (...links: Json[]) =>
      (await browser.post(selected, { ...rows(...links), what: 'delete' })).page.text
    assert.match(await asks(...here), /many-5: 0 clicks\s*and 1 more/)
    assert.doesNotMatch(await asks(...here.slice(0, 5)), /more/)
    assert.match(await asks(there), /Visitors will be redirected to acme\.com\/nothing-here immediately/)
    assert.match(await asks(there, here[0]), /immediately see a 404 or the domain’s not-found page/)
  })

  test('are deleted once if the confirmation is sent twice, and restored together, as far as possible', async () => {
    const [one, two, three] = [await place.link({ alias: 'together' }), await place.link(), await place.link()]
    const next = '/app/links?search=x'
    const remove = async (...links: Json[]) => {
      const { page } = await browser.post(selected, { ...rows(...links), what: 'delete', next })
      await browser.submit(page, selected)
      return after(await browser.submit(page, selected))
    }
    const deleted = await remove(one, two, three)
    assert.match(deleted.said.join(), /^Deleted 3 links\./)
    const back = await browser.submit(deleted, '/app/history/undo')
    assert.equal(back.headers.location, next)
    assert.match((await after(back)).said.join(), /^Change undone\. Restored 3 links\./)
    for (const link of [one, two, three]) assert.deepEqual(withoutTime(await shown(link)), withoutTime(link))
    const again = await remove(one, two)
    await place.link({ alias: 'together' })
    assert.match(await undo(again), /1 change undone, 1 other stayed.*The alias together has already been taken/)
    assert.deepEqual([await shown(one), withoutTime(await shown(two))], [undefined, withoutTime(two)])
    assert.match(await undo(await remove(two)), /Change undone\. Restored /)
  })

  test('that no longer exist cause a notice that nothing was changed', async () => {
    const gone = { id: 999_999 }
    const said = async (form: Form) => (await after(await browser.post(selected, { ...rows(gone), ...form }))).said
    for (const form of [{ what: 'disable' }, { what: 'move', to: 'space-0' }, { what: 'delete', confirmed: 'true' }]) {
      assert.match((await said(form)).join(), /^Nothing was changed because the links no longer exist/)
    }
  })

  test('must not be empty, and need an action', async () => {
    const one = await place.link()
    const none = await browser.post(selected, { what: 'delete', 'row-0': 'on', 'row-x': 'on', 'row-': 'on', row: 'on' })
    assert.deepEqual([none.status, none.headers.location], [303, '/app/links'])
    for (const what of ['', 'explode', '__proto__']) {
      assert.equal((await browser.post(selected, { ...rows(one), what })).status, 400)
    }
    assert.equal((await browser.post(selected, { ...rows({ id: '9'.repeat(16) }), what: 'disable' })).status, 303)
    assert.deepEqual(await shown(one), one)
  })

  test('are enabled, disabled, archived and listed again one by one, which can be undone', async () => {
    const link = await place.link()
    const next = `/app/links/${link.id}`
    for (const [action, changed] of [
      ['disable', { disabled: true }],
      ['enable', { disabled: false }],
      ['archive', { archived: true }],
      ['unarchive', { archived: false }],
    ] as const) {
      const before = await shown(link)
      const act = async () => after(await browser.post(`${next}/${action}`, { next }))
      const page = await act()
      assert.partialDeepStrictEqual(await shown(link), changed)
      assert.match(await undo(page), /Change undone\. /)
      assert.deepEqual({ ...(await shown(link)), updated_at: '' }, { ...before, updated_at: '' })
      await act()
    }
  })
})
