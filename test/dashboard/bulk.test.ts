/** Actions on all links that match the list, and moves to another domain. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { maxBulkLinks } from '../../src/links/link.ts'
import type { Storage } from '../../src/storage/port.ts'
import { startApp } from '../app.ts'
import { openClicks } from '../clicks.ts'
import type { Json } from '../client.ts'
import { signedIn } from '../dashboard.ts'
import { newEditor, selected } from '../dashboard-links.ts'
import { withMethods } from '../failing-storage.ts'
import { fillLinks } from '../links.ts'
import { newPlace, type Place } from '../links-api.ts'

const app = await startApp()
const { maintenance } = await openClicks(app.storage.location, after)

/** Returns an editor with a second domain. */
async function newMover() {
  const editor = await newEditor(app)
  return { ...editor, other: await editor.stored('/domains', { name: `other.${editor.domain.name}` }) }
}

/** Returns all links of the account without the times of their changes. */
async function linksOf({ send }: Place, query = 'archived=any'): Promise<Json[]> {
  const { data, meta } = (await send('GET', `/links?per_page=100&${query}`)).body
  assert.ok(meta.total <= 100)
  return data.map(({ updated_at: _, ...link }: Json) => link)
}

type Mover = Awaited<ReturnType<typeof newMover>>

/** Stores links of all kinds in two spaces and on two domains. Returns the space ids. */
async function furnish({ link, stored, domain, other }: Mover): Promise<readonly [number, number]> {
  const [{ id: red }, { id: blue }] = [
    await stored('/spaces', { name: 'Red' }),
    await stored('/spaces', { name: 'Blue' }),
  ]
  for (const [title, disabled, space_id, { id: domain_id }, tags] of [
    ['summer', false, null, domain, []],
    ['summer sale', false, red, domain, ['kept', 'old']],
    ['winter', false, red, other, ['old']],
    ['summer winter', true, red, domain, ['kept']],
    ['', true, blue, other, ['kept', 'old']],
    ['summer', true, red, other, []],
  ] as const) {
    await link({ title, disabled, space_id, domain_id, tags, archived: title === '' })
  }
  return [red, blue]
}

/** Returns a link after an action; nothing if it is deleted. */
function changed(link: Json, what: string, space_id: number, domain: Json): Json[] {
  if (what === 'delete') return []
  if (what === 'tag') return [{ ...link, tags: [...link.tags.filter((tag: string) => tag !== 'old'), 'new'] }]
  if (what === 'space' || what === 'none') return [{ ...link, space_id: what === 'none' ? null : space_id }]
  if (what === 'domain') {
    const short_url = link.short_url.replace(/(?<=\/\/)[^/:]+/, domain.name)
    return [{ ...link, domain_id: domain.id, short_url }]
  }
  if (/archive$/.test(what)) return [{ ...link, archived: what === 'archive' }]
  const disabled = what === 'disable'
  return [{ ...link, disabled, status: disabled ? 'disabled' : 'active' }]
}

describe('all links that match', () => {
  test('are changed, and no others; undo restores all of them', async () => {
    const [own, stranger] = [await newMover(), await newMover()]
    const [red, blue] = await furnish(own)
    await furnish(stranger)
    const [before, theirs] = [await linksOf(own), await linksOf(stranger)]
    const notFound = /Visitors will see a 404 immediately\./
    const inBlue = { what: 'move', to: `space-${blue}` }
    const inNone = { what: 'move', to: 'space-0' }
    const onOther = { what: 'move', to: `domain-${own.other.id}` }
    for (const [what, more, query, question, sentence] of [
      ['enable', {}, 'search=summer&status=disabled', 'Enable 2 links?', /redirected/],
      ['disable', {}, `space_id=${red}`, 'Disable 4 links?', notFound],
      ['archive', {}, 'search=summer', 'Archive 4 links?', /keep/],
      ['unarchive', {}, `archived=true&space_id=${blue}`, 'Unarchive 1 link?', /show/],
      ['space', inBlue, `search=summer&space_id=${red}`, 'Move 3 links to Blue?', /same/],
      ['space', inBlue, 'space_id=0', 'Move 1 link to Blue?', /Clicks move/],
      ['none', inNone, `space_id=${red}`, 'Move 4 links to “No space”?', /same/],
      ['domain', onOther, `domain_id=${own.domain.id}`, 'Move 3 links to other', notFound],
      ['tag', { add_tags: 'new', remove_tags: 'unknown, OLD' }, 'search=winter', 'Change the tags', /20/],
      ['delete', {}, 'status=disabled', 'Delete 2 links?', notFound],
      ['delete', {}, '', 'Delete 5 links?', notFound],
    ] as const) {
      const matching = new Set((await linksOf(own, query)).map(({ id }) => id))
      const next = `/app/links?${query}`
      const form = { what, ...more, matching: '1', next }
      const { page: asked } = await own.browser.post(selected, form)
      assert.ok(asked.heading.startsWith(question), asked.heading)
      assert.match(asked.text, sentence)
      assert.match(asked.text, /You can undo this in the history for 30 days\./)
      assert.ok(asked.links.includes(query === '' ? '/app/links' : next))
      assert.deepEqual(await linksOf(own), before, 'the question changes nothing')
      const page = await own.confirm(form)
      const expected = before.flatMap((each) => (matching.has(each.id) ? changed(each, what, blue, own.other) : [each]))
      assert.deepEqual(await linksOf(own), expected)
      await own.undo(page)
      assert.deepEqual(await linksOf(own), before)
      assert.deepEqual(await linksOf(stranger), theirs)
    }
  })

  test('need a valid name and destination', async () => {
    const { domain, link, browser } = await newMover()
    await link({ title: 'sale' })
    const all = { matching: '1', next: '/app/links?search=sale' }
    for (const [form, status] of [
      [{ what: 'move', to: 'space-99999' }, 422],
      [{ what: 'move', to: 'domain-99999' }, 422],
      [{ what: 'move', to: 'domain-99999', confirmed: 'true' }, 422],
      [{ what: 'explode' }, 400],
      [{ what: 'disable', next: '/app/links?status=wrong' }, 422],
      [{ what: 'disable', next: '/app/links?search=nothing' }, 303],
    ] as const) {
      assert.equal((await browser.post(selected, { ...all, ...form })).status, status, JSON.stringify(form))
    }
    assert.equal((await browser.get(`/app/links/move?domain_id=${domain.id}`)).status, 200)
  })

  test('are asked about again, by each action, if they are no longer those of the list or of the question', async () => {
    const own = await newMover()
    const { browser, link, send, other } = own
    const { id: space_id } = await own.stored('/spaces', { name: 'Shop' })
    const links: Json[] = []
    for (let at = 0; at < 12; at++)
      links.push(await link({ tags: ['sale'], space_id, url: `https://old.acme.com/${at}` }))
    let spare = await link({ space_id, url: 'https://old.acme.com/spare' })
    const tag = (await send('GET', '/tags')).body.data[0].id
    const next = `/app/links?tag_id=${tag}&per_page=10`
    /** Takes the tag from one link, and gives it to another: as many links as before. */
    const swap = async () => {
      const out = links.pop() as Json
      await send('PATCH', `/links/${out.id}`, { json: { tags: [] } })
      await send('PATCH', `/links/${spare.id}`, { json: { tags: ['sale'] } })
      links.unshift(spare)
      spare = out
    }
    const remark = /Nothing was changed yet\. The 12 links that you were shown changed in the meantime\./
    for (const [what, more] of [
      ['archive', {}],
      ['forward', {}],
      ['tag', { add_tags: 'new' }],
      ['limit', { clicks_limit: '9' }],
      ['replace', { find: 'old', replace: 'new', part: 'all' }],
      ['move', { to: 'space-0' }],
      ['move', { to: `domain-${other.id}` }],
      ['delete', {}],
    ] as const) {
      const list = await browser.open(next)
      const typed = { ...more, matching: '1', what }
      const { page: first } = await browser.submit(list, selected, typed)
      assert.doesNotMatch(first.text, remark, what)
      await swap()
      const before = await linksOf(own)
      const { page: late } = await browser.submit(list, selected, typed)
      assert.match(late.text, remark, what)
      const { page: again, status } = await browser.submit(first, selected, more)
      assert.equal(status, 409, what)
      assert.match(again.text, remark, what)
      assert.deepEqual(await linksOf(own), before, what)
      const done = await browser.after(await browser.submit(again, selected, more))
      assert.match(done.said.join(), /12 links/, what)
      await own.undo(done)
    }
  })

  test('are asked about again if a plan would change other links', async () => {
    const { browser, link, send, shown, other } = await newMover()
    const [one, two] = [await link({ url: 'https://old.acme.com/1' }), await link({ url: 'https://acme.com/2' })]
    const typed = { what: 'replace', matching: '1', find: 'old.', replace: '', part: 'all' }
    const { page } = await browser.post(selected, typed)
    await send('PATCH', `/links/${two.id}`, { json: { url: 'https://old.acme.com/2' } })
    const again = await browser.submit(page, selected)
    assert.deepEqual([again.status, again.page.heading], [409, 'Change 2 destinations?'])
    assert.equal((await shown(one)).url, one.url)
    const { page: move } = await browser.post(selected, { what: 'move', matching: '1', to: `domain-${other.id}` })
    await link({ alias: one.alias, domain_id: other.id, archived: true })
    assert.equal((await browser.submit(move, selected)).page.heading, `Move 1 link to ${other.name}?`)
  })

  test('are changed by one request of an account at a time; four others wait', async () => {
    let gate = Promise.resolve()
    const waits = (real: Storage) =>
      withMethods(real, {
        write: (async (...of: Parameters<Storage['write']>) => {
          await gate
          return real.write(...of)
        }) as Storage['write'],
      })
    const own = await startApp({ storage: waits })
    const place = await newPlace(own)
    const browser = await signedIn(own, place.key)
    const { id } = await place.link()
    const { promise, resolve: open } = Promise.withResolvers<void>()
    gate = promise
    const form = { what: 'disable', [`row-${id}`]: 'on' }
    const answers = Array.from({ length: 6 }, () => browser.post(selected, form))
    const first = await Promise.race(answers)
    assert.equal(first.status, 503)
    assert.match(first.page.text, /Too many changes of several links are under way\. Try again in a few seconds\./)
    open()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [303, 303, 303, 303, 303, 503])
  })

  test('are rejected above the limit', async () => {
    const { account, domain, browser } = await newMover()
    await fillLinks(app.storage, { account, domain: domain.id }, 1, maxBulkLinks + 1)
    const next = `/app/links?domain_id=${domain.id}`
    const list = await browser.open(next)
    assert.match(list.text, /To select all, filter the list to 5,000 links\./)
    for (const answer of [
      await browser.post(selected, { what: 'disable', matching: '1', confirmed: 'true', next }),
      await browser.get(`/app/links/move?domain_id=${domain.id}`),
    ]) {
      assert.equal(answer.status, 422)
      assert.match(answer.page.text, /One action changes up to 5,000 links\. Narrow the search or the filters/)
    }
  })
})

describe('a change of tags', () => {
  test('needs names, and returns 422 with the error next to its field', async () => {
    const { link, browser, confirm, shown } = await newMover()
    const { id } = await link()
    const form = { what: 'tag', [`row-${id}`]: 'on' }
    const { page, status } = await browser.post(selected, form)
    assert.deepEqual([status, page.heading], [200, 'Change the tags of 1 link'])
    for (const [field, names, error] of [
      ['add_tags', '', 'Name tags to add or to remove.'],
      ['add_tags', ' , ', 'Name tags to add or to remove.'],
      ['add_tags', 'x'.repeat(51), '“Add tags” must be at most 50 characters long.'],
      ['remove_tags', Array.from({ length: 21 }, (_, at) => at).join(), '“Remove tags” takes at most 20 values.'],
    ] as const) {
      const answer = await browser.submit(page, selected, { [field]: names })
      assert.equal(answer.status, 422)
      assert.ok(answer.page.errorOf(field).includes(error), answer.page.errorOf(field))
    }
    assert.deepEqual((await shown({ id })).tags, [])
    const { said } = await confirm({ ...form, add_tags: 'Summer, Print, SUMMER', remove_tags: 'print' })
    assert.match(said.join(), /^Created 2 tags and changed the tags of \S+\. Undo/)
    assert.deepEqual((await shown({ id })).tags, ['Print', 'Summer'])
  })

  test('skips links that would have more than 20 tags, and links of other accounts', async () => {
    const [{ link, confirm, shown, undo }, stranger] = [await newMover(), await newMover()]
    const names = Array.from({ length: 20 }, (_, at) => `tag ${at}`)
    const [full, free, foreign] = [await link({ tags: names }), await link(), await stranger.link()]
    const page = await confirm({ what: 'tag', add_tags: 'one more' }, full, free, foreign)
    assert.match(page.said.join(), /^Created .* 2 links couldn’t be changed\. A link has up to 20 tags\. Undo/)
    const tagsOf = async () => [(await shown(full)).tags.length, (await shown(free)).tags]
    assert.deepEqual(await tagsOf(), [20, ['one more']])
    assert.deepEqual((await stranger.shown(foreign)).tags, [])
    // The new tag is a change, too.
    assert.match(
      (await undo(page)).said.join(),
      /^Change undone\. Changed the tags of \S+ and deleted the tag one more\.$/,
    )
    assert.deepEqual(await tagsOf(), [20, []])
  })
})

describe('a move to another domain', () => {
  test('lists conflicts first, moves the other links with their clicks, and can be undone', async () => {
    const { domain, other, link, browser, undo, shown, send } = await newMover()
    const [summer, winter, taken] = [
      await link({ alias: 'summer', clicks_limit: 9 }),
      await link({ alias: 'winter', archived: true }),
      await link({ alias: 'Taken' }),
    ]
    const there = await link({ alias: 'taken', domain_id: other.id })
    const looping = await link({ alias: 'loops', url: `http://${other.name}/loops` })
    assert.equal((await app.visit(`http://${domain.name}/summer`)).status, 302)
    const { links } = await browser.open(`/app/domains/${domain.id}`)
    const moves = links.filter((path) => path.startsWith('/app/links/move?'))
    assert.equal(moves.length, 1)
    const ask = await browser.open(moves[0] as string)
    assert.equal(ask.heading, 'Move 4 links')
    const { page } = await browser.submit(ask, selected, { to: `domain-${other.id}` })
    assert.equal(page.heading, `Move 2 links to ${other.name}?`)
    assert.match(page.text, new RegExp(`1 of 4 aliases is taken on ${other.name}\\.`))
    assert.match(page.text, new RegExp(`1 link would redirect to itself on ${other.name}\\.`))
    assert.match(
      page.text,
      /the current short links stop working\. Visitors will see a 404 immediately\. They had 1 click/,
    )
    for (const { id } of [taken, looping]) assert.ok(page.links.includes(`/app/links/${id}`))
    assert.equal((await shown(winter)).domain_id, domain.id)

    const moved = await browser.after(await browser.submit(page, selected, { keep_addresses: undefined }))
    assert.match(
      moved.said.join(),
      new RegExp(`^Moved 2 links to ${other.name}\\. 2 links couldn’t be changed\\. Undo`),
    )
    const places = async () =>
      Promise.all([summer, winter, taken, looping, there].map(async (each) => (await shown(each)).domain_id))
    assert.deepEqual(await places(), [other.id, other.id, domain.id, domain.id, other.id])
    assert.equal((await app.visit(`http://${domain.name}/summer`)).status, 404)
    assert.equal((await app.visit(`http://${other.name}/summer`)).status, 302)
    const clicksOn = async ({ id }: Json) => (await send('GET', `/stats?name=clicks&domain_id=${id}`)).body.meta.clicks
    await maintenance.moveClicks()
    assert.deepEqual([await clicksOn(domain), await clicksOn(other)], [0, 2])

    assert.deepEqual((await undo(moved)).said, [`Change undone. Moved 2 links to ${domain.name}.`])
    assert.deepEqual(await places(), [domain.id, domain.id, domain.id, domain.id, other.id])
    assert.equal((await app.visit(`http://${other.name}/summer`)).status, 404)
    assert.equal((await app.visit(`http://${domain.name}/summer`)).status, 302)
    assert.equal((await shown(summer)).clicks, 3)
  })

  test('names a link whose address a link of another part has got', async () => {
    const { account, domain, other, link, browser, stored } = await newMover()
    await fillLinks(app.storage, { account, domain: domain.id }, 1, 260)
    const last = await link({ alias: 'l1', domain_id: other.id })
    const third = await stored('/domains', { name: `third.${domain.name}` })
    const form = { what: 'move', to: `domain-${third.id}`, matching: '1', next: '/app/links' }
    const { page } = await browser.post(selected, form)
    assert.equal(page.heading, `Move 261 links to ${third.name}?`)
    const answer = await browser.submit(page, selected)
    assert.equal(answer.status, 200)
    assert.equal(answer.page.heading, '260 links changed, 1 other stayed')
    assert.ok(answer.page.links.includes(`/app/links/${last.id}`))
    assert.ok(answer.page.links.includes('/app/history'))
  })

  test('moves as many links as its question says: own addresses, 20 further ones, and loops through them', async () => {
    const { other, link, browser, send, stored, shown, ask } = await newMover()
    const addTo = ({ id }: Json, alias: string, domain_id?: number) =>
      stored(`/links/${id}/addresses`, { alias, ...(domain_id && { domain_id }) })
    const promoted = await link({ alias: 'own' })
    await addTo(promoted, 'own', other.id)
    const owner = await link({ alias: 'a' })
    await addTo(owner, 'b', other.id)
    const clashing = await link({ alias: 'b' })
    const looping = await link({ alias: 'c', url: `http://${other.name}/d` })
    await addTo(looping, 'e')
    await send('PATCH', `/links/${looping.id}`, { json: { url: `http://${other.name}/c` } })
    const full = await link({ alias: 'full' })
    for (let at = 0; at < 20; at++) await addTo(full, `full-${at}`)
    const all = [promoted, owner, clashing, looping, full]
    const { page } = await ask({ what: 'move', to: `domain-${other.id}` }, ...all)
    assert.equal(page.heading, `Move 2 links to ${other.name}?`)
    assert.match(
      page.text,
      /1 of 5 aliases is taken on .*1 link can’t keep the old address: a link has up to 20 further/s,
    )
    // Without the old addresses, one more can move, so the page asks again.
    const { page: again, status } = await browser.submit(page, selected, { keep_addresses: undefined })
    assert.deepEqual([status, again.heading], [409, `Move 3 links to ${other.name}?`])
    const moved = await browser.after(await browser.submit(page, selected))
    assert.match(moved.said.join(), /^Moved 2 links to other\..* 3 links couldn’t be changed\./)
    const domains = await Promise.all(all.map(async (each) => (await shown(each)).domain_id === other.id))
    assert.deepEqual(domains, [true, true, false, false, false])
  })

  test('says why nothing moves, or why a move can’t be undone', async () => {
    const { domain, other, link, browser, ask, undo } = await newMover()
    const [here, there] = [await link({ alias: 'same' }), await link({ alias: 'same', domain_id: other.id })]
    const form = { what: 'move', to: `domain-${other.id}` }
    const { page } = await ask(form, here, there)
    assert.match(page.text, /Nothing to move to other\./)
    assert.match(page.text, /1 link is already on other\..*1 of 2 aliases is taken on other\./)
    assert.ok(!page.actions.includes(selected))
    const both = { ...form, [`row-${here.id}`]: 'on', [`row-${there.id}`]: 'on', confirmed: 'true' }
    assert.match(
      (await browser.after(await browser.post(selected, both))).said.join(),
      /^1 link couldn’t be changed\.$/,
    )
    const gone = await browser.post(selected, { ...form, 'row-99999': 'on' })
    assert.equal(gone.headers.location, '/app/links')
    const moving = await link({ alias: 'moving' })
    const { page: question } = await ask(form, moving)
    const moved = await browser.after(await browser.submit(question, selected, { keep_addresses: undefined }))
    await browser.post(`/app/domains/${domain.id}/delete`, { name: domain.name })
    const result = await undo(moved)
    assert.equal(result.heading, 'Nothing was undone')
    assert.ok(result.text.includes(`moving: The domain ${domain.name} is gone.`))
    const empty = await browser.get(`/app/links/move?domain_id=99999`)
    assert.match(empty.page.text, /No links to move/)
  })
})
