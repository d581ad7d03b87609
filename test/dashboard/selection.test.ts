/** Dates, limits, forwarding and destinations of selected links. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import type { Form } from '../dashboard.ts'
import { newEditor, selected } from '../dashboard-links.ts'

const app = await startApp()

test('the menu of the list has all actions', async () => {
  const { link, browser } = await newEditor(app)
  await link()
  const { text } = await browser.open('/app/links')
  for (const label of ['Dates and limits…', 'Replace in destinations…', 'Forward query strings', 'Archive']) {
    assert.ok(text.includes(label), label)
  }
})

describe('dates and limits', () => {
  test('are set or removed; empty ones stay, and links whose period would be empty are left out', async () => {
    const { link, browser, shown, ask } = await newEditor(app)
    const ended = await link({ active_period_end_at: '2030-01-01 00:00', clicks_limit: 5 })
    const [open, limited] = [await link(), await link({ clicks_limit: 9 })]
    const { page, status } = await ask({ what: 'limit' }, ended, open, limited)
    assert.deepEqual([status, page.heading], [200, 'Change dates and limits of 3 links'])
    const sent = { active_period_start_at: '2031-02-03T04:05', remove_clicks_limit: 'true' }
    const { said } = await browser.after(await browser.submit(page, selected, sent))
    assert.match(said.join(), /^Changed 2 links\. 1 link couldn’t be changed\./)
    const start = '2031-02-03T04:05:00.000Z'
    for (const each of [open, limited]) {
      assert.partialDeepStrictEqual(await shown(each), { active_period_start_at: start, clicks_limit: null })
    }
    assert.deepEqual(await shown(ended), ended)
    const again = await ask({ what: 'limit', confirmed: 'true', remove_active_period_start_at: 'true' }, open)
    assert.match((await browser.after(again)).said.join(), /^Removed the start of /)
    assert.equal((await shown(open)).active_period_start_at, null)
  })

  test('need a value, and show each error next to its control', async () => {
    const { link, browser, shown, ask } = await newEditor(app)
    const one = await link()
    const { page } = await ask({ what: 'limit' }, one)
    for (const [sent, name, words] of [
      [{}, 'active_period_start_at', 'Enter a value, or check a box.'],
      [{ clicks_limit: '0' }, 'clicks_limit', '“Click limit” must be a whole number from 1 to 1,000,000,000.'],
      [{ clicks_limit: '5', remove_clicks_limit: 'true' }, 'clicks_limit', 'Leave this empty, or don’t remove'],
      [{ active_period_end_at: 'soon' }, 'active_period_end_at', '“Stops working on” must be a date and a time'],
      [
        { active_period_start_at: '2031-01-02T00:00', active_period_end_at: '2031-01-01T00:00' },
        'active_period_end_at',
        'must be after “Starts working on”',
      ],
    ] as const) {
      const answer = await browser.submit(page, selected, sent)
      assert.equal(answer.status, 422)
      assert.ok(answer.page.errorOf(name).includes(words), answer.page.errorOf(name))
      assert.partialDeepStrictEqual(answer.page.form(selected), sent)
    }
    assert.deepEqual(await shown(one), one)
  })
})

test('query strings of visitors are forwarded, or no longer', async () => {
  const { link, browser, shown, ask } = await newEditor(app)
  const [one, two] = [await link(), await link({ forward_query: true })]
  const said = async (what: string, ...links: Json[]) =>
    (await browser.after(await ask({ what }, ...links))).said.join()
  assert.match(await said('forward', one, two), /^Turned on the forwarding of the query string for \S+\. Undo/)
  assert.deepEqual([(await shown(one)).forward_query, (await shown(two)).updated_at], [true, two.updated_at])
  assert.match(await said('unforward', one), /^Turned off the forwarding/)
  assert.equal((await shown(one)).forward_query, false)
  const { page } = await ask({ what: 'unforward', matching: '1' })
  assert.equal(page.heading, 'Don’t forward query strings of 2 links?')
})

describe('text in destinations', () => {
  test('is replaced after a preview of all changes, unchanged and impossible links', async () => {
    const { domain, link, browser, shown, ask } = await newEditor(app)
    const [first, second, other, looping] = [
      await link({ url: 'https://old.acme.com/a?x=old.acme.com' }),
      await link({ url: 'https://old.acme.com/b' }),
      await link({ url: 'https://other.acme.com/old.acme.com' }),
      await link({ alias: 'loops', url: 'http://old.acme.com/loops' }),
    ]
    const all = [first, second, other, looping]
    const { page: form } = await ask({ what: 'replace' }, ...all)
    assert.equal(form.heading, 'Replace text in the destinations of 4 links')
    const sent = { find: 'old.acme.com', replace: domain.name, part: 'host' }
    const { page: preview, status } = await browser.submit(form, selected, sent)
    assert.deepEqual([status, preview.heading], [200, 'Change 2 destinations?'])
    assert.match(
      preview.text,
      /https:\/\/old\.acme\.com\/a\?x=old\.acme\.com\s*After: https:\/\/go\d+\.example\/a\?x=old\.acme\.com/,
    )
    assert.match(preview.text, /1 link without this text stays unchanged\./)
    assert.match(preview.text, /1 link can’t be changed:.*“Destination” must not be this short link itself\./s)
    assert.deepEqual(await Promise.all(all.map(shown)), all, 'the preview changes nothing')
    const { said } = await browser.after(await browser.submit(preview, selected))
    assert.match(said.join(), /^Changed the destination of 2 links\. 1 link couldn’t be changed\./)
    const url = `https://${domain.name}`
    assert.deepEqual(
      (await Promise.all(all.map(shown))).map((each) => each.url),
      [`${url}/a?x=old.acme.com`, `${url}/b`, other.url, looping.url],
    )
    assert.deepEqual(await shown(other), other)
    const found = (await browser.open(`/app/links?search=${domain.name}/b`)).text
    assert.ok(found.includes(`${domain.name}/b`), 'searches find the new destination')
  })

  test('is replaced only in the query string, or removed', async () => {
    const { link, browser, shown, ask } = await newEditor(app)
    const one = await link({ url: 'https://spring.com/spring?utm_campaign=spring&a=1#spring' })
    const confirm = async (form: Form) => browser.after(await ask({ what: 'replace', confirmed: 'true', ...form }, one))
    const { page } = await ask({ what: 'replace', find: 'spring.com', replace: 'spring.con', part: 'host' }, one)
    assert.match(page.cautions.join(), /^Check the destination: spring\.con ends in “\.con”/)
    await confirm({ find: 'spring', replace: '$&', part: 'query' })
    assert.equal((await shown(one)).url, 'https://spring.com/spring?utm_campaign=$&&a=1#spring')
    await confirm({ find: 'utm_campaign=$&&' })
    assert.equal((await shown(one)).url, 'https://spring.com/spring?a=1#spring')
    assert.match((await confirm({ find: 'gone' })).said.join(), /^Nothing was changed\./)
  })

  test('has errors next to its controls, and stays with the selected links if nothing would change', async () => {
    const { link, browser, ask } = await newEditor(app)
    const one = await link()
    const { page } = await ask({ what: 'replace' }, one)
    for (const [sent, name, words] of [
      [{ find: '' }, 'find', 'Fill in “Find”.'],
      [{ find: 'x', replace: 'y'.repeat(8_193) }, 'replace', '“Replace with” must be at most 8,192 characters long.'],
      [{ find: 'x', part: 'path' }, 'part', '“Where” must be one of the listed options.'],
    ] as const) {
      const answer = await browser.submit(page, selected, sent)
      assert.equal(answer.status, 422)
      assert.ok(answer.page.errorOf(name).includes(words), answer.page.errorOf(name))
    }
    const typed = { find: 'not there', replace: 'here', part: 'host' }
    const { status, page: nothing } = await browser.submit(page, selected, typed)
    assert.deepEqual([status, nothing.heading], [422, 'Nothing to replace'])
    assert.match(nothing.text, /1 link without this text stays unchanged\./)
    assert.partialDeepStrictEqual(nothing.form(selected), typed)
    const refused = { find: 'https:', replace: 'javascript:', part: 'all' }
    const { page: invalid } = await browser.submit(nothing, selected, refused)
    assert.match(invalid.text, /1 link can’t be changed:/)
    const corrected = (await browser.submit(invalid, selected, { replace: 'http:' })).page
    assert.equal(corrected.heading, 'Change 1 destination?')
  })
})

test('the bar, each question and an empty list offer to include archived links', async () => {
  const { browser, link, shown } = await newEditor(app)
  const links = [await link({ url: 'https://old.acme.com/1' }), await link({ url: 'https://old.acme.com/2' })]
  const archived = await link({ url: 'https://old.acme.com/3', archived: true })
  const next = '/app/links?search=old'
  const list = await browser.open(next)
  assert.match(list.text, /2 links\s*and 1 archived/)
  assert.ok(list.links.includes(`${next}&archived=any`))
  const typed = { what: 'replace', matching: '1', find: 'old', replace: 'new', part: 'all' }
  const { page: ask } = await browser.submit(list, selected, typed)
  assert.match(ask.text, /Include 1 archived link.*1 archived link matches, too, and stays unchanged\./)
  const { page: wider, status } = await browser.submit(ask, selected, { include_archived: 'true' })
  assert.deepEqual([status, wider.heading], [200, 'Change 3 destinations?'])
  assert.doesNotMatch(wider.text, /Nothing was changed yet|archived/)
  const { said } = await browser.after(await browser.submit(ask, selected))
  assert.match(said.join(), /^Changed the destination of 2 links\./)
  assert.equal((await shown(archived)).url, archived.url)
  const empty = await browser.open(next)
  assert.match(
    empty.text,
    /No links match “old”.*1 archived link matches\. Lists omit them, but they still redirect\./s,
  )
  assert.ok(empty.links.includes(`${next}&archived=any`))
  for (const what of ['archive', 'delete', 'tag', 'limit', 'move']) {
    const { page } = await browser.post(selected, { what, matching: '1', next: '/app/links' })
    assert.match(page.text, /Include 1 archived link/, what)
  }
  for (const { id } of links) await browser.post(`/app/links/${id}/archive`)
  assert.match((await browser.open('/app/links')).text, /All links are archived.*3 archived links match\./s)
})
