/** The history: a sentence for each change, its values, groups, filters, and the section on record pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Actor, commandActor, createActor, systemActor } from '../../src/access/actor.ts'
import type { NewEvent } from '../../src/events/event.ts'
import { recordEvents } from '../../src/events/log.ts'
import { startApp } from '../app.ts'
import { newOwner, type Owner, type Page } from '../dashboard.ts'
import { allOf, type Element, elementsIn, textOf } from '../html-page.ts'

const app = await startApp({ shortUrl: 'http://{domain}' })

/** Returns a person who acts in the account. Each has a batch of their own. */
function person(account: number, name = 'Ana'): Actor {
  return createActor({ account, kind: 'member', id: null, name, scopes: ['*'] }, null)
}

const record = (actor: Actor, ...events: readonly NewEvent[]) =>
  app.storage.write((tx) => recordEvents(tx, actor, events))

const link = (event: Partial<NewEvent> = {}): NewEvent => ({
  ...{ record: 'link', action: 'updated', id: 9_999, name: 'go.acme.com/summer', changes: {} },
  ...event,
})

const ofClass = (root: Element, name: string) =>
  elementsIn(root).filter(({ attributes }) => (attributes.get('class') ?? '').split(' ').includes(name))

/** Returns the values of the first entry: label, before, after. */
function values({ root }: Page): string[][] {
  const [changed] = ofClass(root, 'changed')
  return allOf(changed ?? assert.fail('no values'), 'div').map((row) =>
    elementsIn(row).flatMap((each) => (each.name === 'dt' || each.name === 'dd' ? textOf(each) : [])),
  )
}

const url = ['https://acme.com/old', 'https://acme.com/new'] as const
const ofSpace = { record: 'space', name: 'Print', id: 9_998 } as const
const ofTag = { record: 'tag', name: 'Summer', id: 9_997 } as const
const ofKey = { record: 'key', name: 'ci', id: 9_996 } as const

for (const [event, sentence] of [
  [{ action: 'created' }, 'created go.acme.com/summer'],
  [{ changes: { url } }, 'changed the destination of go.acme.com/summer'],
  [{ changes: { title: [null, 'Sale'] } }, 'set the title of go.acme.com/summer'],
  [{ changes: { title: ['Sale', null] } }, 'removed the title of go.acme.com/summer'],
  [{ changes: { active_period_end_at: [null, '2030-01-01T00:00:00.000Z'] } }, 'set the end of go.acme.com/summer'],
  [{ changes: { redirect_password: ['secret', 'secret'] } }, 'changed the password of go.acme.com/summer'],
  [{ changes: { disabled: [false, true] } }, 'disabled go.acme.com/summer'],
  [{ changes: { disabled: [true, false] } }, 'enabled go.acme.com/summer'],
  [{ changes: { archived: [false, true] } }, 'archived go.acme.com/summer'],
  [{ changes: { archived: [true, false] } }, 'unarchived go.acme.com/summer'],
  [{ changes: { space_id: [1, null] } }, 'moved go.acme.com/summer to “No space”'],
  [{ changes: { space_id: [null, 9_998] } }, 'moved go.acme.com/summer to a deleted space'],
  [{ changes: { domain_id: [1, 9_998] } }, 'moved go.acme.com/summer to a deleted domain'],
  [{ changes: { url, title: ['a', 'b'], notes: [null, 'c'] } }, 'changed 3 fields of go.acme.com/summer'],
  [{ action: 'deleted' }, 'deleted go.acme.com/summer'],
  [{ action: 'deleted', changes: null }, 'deleted go.acme.com/summer permanently'],
  [{ action: 'restored' }, 'restored go.acme.com/summer'],
  [{ action: 'clicks_deleted' }, 'deleted the statistics of go.acme.com/summer'],
  [{ name: 'xn--bcher-kva.example/été' }, 'changed bücher.example/été'],
  [{ record: 'domain', action: 'created', name: 'xn--bcher-kva.example' }, 'added bücher.example'],
  [{ record: 'domain', name: 'go.acme.com', changes: { homepage_url: url } }, 'changed the homepage of go.acme.com'],
  [{ record: 'domain', action: 'deleted', name: 'go.acme.com' }, 'deleted go.acme.com'],
  [{ ...ofSpace, action: 'created' }, 'created the space Print'],
  [{ ...ofSpace, changes: { color: [1, 2] } }, 'changed the color of the space Print'],
  [{ ...ofSpace, changes: { name: ['Paper', 'Print'] } }, 'changed the name of the space Print'],
  [{ ...ofTag, action: 'deleted' }, 'deleted the tag Summer'],
  [{ ...ofTag, action: 'merged' }, 'merged the tag Summer'],
  [{ ...ofKey, action: 'created' }, 'created the API key ci'],
  [{ ...ofKey, action: 'rotated' }, 'rotated the API key ci'],
  [{ ...ofKey, action: 'revoked' }, 'revoked the API key ci'],
  [
    { record: 'account', name: 'Acme', changes: { time_zone: ['UTC', 'Asia/Tokyo'] } },
    'changed the time zone of the account Acme',
  ],
] as const satisfies readonly (readonly [Partial<NewEvent>, string])[]) {
  test(`says “Ana ${sentence}” for ${JSON.stringify(event)}`, async () => {
    const { account, browser } = await newOwner(app)
    await record(person(account), link(event))
    assert.equal((await browser.open('/app/history')).deeds[0], `Ana ${sentence}`)
  })
}

test('names keys, commands and Waymark by what they are', async () => {
  const { account, browser } = await newOwner(app)
  const key = createActor({ account, kind: 'key', id: 7, name: 'ci', scopes: ['*'] }, null)
  for (const actor of [systemActor(account), commandActor(account, 'root'), key]) {
    await record(actor, link({ action: 'created' }))
  }
  const said = (await browser.open('/app/history')).deeds.slice(0, 3)
  const authors = ['API key ci', 'Command line (root)', 'Waymark']
  assert.deepEqual(
    said,
    authors.map((name) => `${name} created go.acme.com/summer`),
  )
})

test('shows each changed field with its label and both values, as people write them', async () => {
  const { account, browser, stored } = await newOwner(app)
  const space = await stored('/spaces', { name: 'Print', color: 2 })
  const changes = {
    url,
    space_id: [9_998, space.id],
    tags: [[], ['a', 'b']],
    disabled: [false, true],
    redirect_password: [null, 'secret'],
    title: ['secret', null],
    active_period_end_at: ['2030-01-02T03:04:00.000Z', null],
    clicks_limit: [1_000, 20_000],
    redirect_status: [302, 308],
  } as const
  await record(person(account), link({ changes }))
  assert.deepEqual(values(await browser.open('/app/history')), [
    ['Destination', 'Before: https://acme.com/old', 'After: https://acme.com/new'],
    ['Space', 'Before: a deleted space', 'After: Print'],
    ['Tags', 'Before: none', 'After: ab'],
    ['Disabled', 'Before: No', 'After: Yes'],
    ['Password', 'Before: none', 'After: a password'],
    ['Title', 'Before: secret', 'After: none'],
    ['Stops working on', 'Before: Jan 2, 2030, 03:04 UTC', 'After: none'],
    ['Click limit', 'Before: 1,000', 'After: 20,000'],
    ['Redirect status', 'Before: 302', 'After: 308'],
  ])
  await record(
    person(account),
    link({ ...ofSpace, action: 'deleted', changes: { name: ['Print', null], color: [2, null] } }),
  )
  assert.deepEqual(values(await browser.open('/app/history')), [
    ['Name', 'Print'],
    ['Color', 'Red'],
  ])
})

/** Returns events for this many links. */
const links = (count: number, event: Partial<NewEvent> = {}) =>
  Array.from({ length: count }, (_, at) => link({ id: 10_000 + at, name: `go.acme.com/${at}`, ...event }))

test('shows the changes of one batch as one entry, with the first records and a link to all', async () => {
  const { account, browser, stored } = await newOwner(app)
  const { id } = await stored('/spaces', { name: 'Print' })
  const ben = person(account, 'Ben')
  await record(ben, ...links(30, { changes: { space_id: [null, id] } }))
  const page = await browser.open('/app/history')
  assert.equal(page.deeds[0], 'Ben moved 30 links to Print')
  const all = `/app/history?batch_id=${ben.batchId}`
  assert.ok(page.links.includes(all))
  assert.match(page.text, /10 of 30 changes/)
  const batch = await browser.open(all)
  assert.equal(batch.deeds[0], 'Ben moved 30 links to Print')
  assert.equal(batch.deeds[1], 'Ben moved go.acme.com/29 to Print')
  assert.equal(batch.deeds.length, 26)
  assert.match(batch.text, /30 changes.*1–25 of 30/s)
})

test('a batch of any size is one entry, and fills no page', async () => {
  const { account, browser } = await newOwner(app)
  const [ana, ben, eve] = [person(account), person(account, 'Ben'), person(account, 'Eve')]
  const event = link({ ...ofSpace, action: 'deleted' })
  await record(ana, event)
  await record(ben, link({ record: 'domain', action: 'deleted', name: 'go.acme.com' }))
  await record(eve, event)
  await record(ben, ...links(1_001, { action: 'deleted' }))
  const page = await browser.open('/app/history')
  assert.deepEqual(page.deeds.slice(0, 3), [
    'Eve deleted the space Print',
    'Ben deleted go.acme.com and more than 1,000 links',
    'Ana deleted the space Print',
  ])
  assert.match(page.text, /10 of more than 1,000 changes/)
  const all = await browser.open(`/app/history?batch_id=${ben.batchId}`)
  assert.equal(all.deeds[0], 'Ben deleted go.acme.com and 1,001 links')
  const ofMembers = (await browser.open('/app/history?actor=member')).deeds
  assert.deepEqual(ofMembers.slice(0, 3), page.deeds.slice(0, 3))
  assert.equal((await browser.open('/app/history?type=link.deleted')).deeds.length, 1)
})

for (const [events, sentence] of [
  [
    [link({ record: 'domain', action: 'deleted', name: 'go.acme.com' }), ...links(24, { action: 'deleted' })],
    'deleted go.acme.com and 24 links',
  ],
  [[link({ ...ofSpace, action: 'deleted' }), ...links(2)], 'deleted the space Print and changed 2 links'],
  [
    [link({ ...ofTag, action: 'deleted' }), ...links(40, { changes: { tags: [['Summer'], []] } })],
    'deleted the tag Summer and changed the tags of 40 links',
  ],
  [
    [link({ ...ofTag, action: 'deleted' }), ...links(1, { changes: { tags: [['Summer'], []] } })],
    'deleted the tag Summer and changed the tags of go.acme.com/0',
  ],
  [
    [...links(2, { action: 'created' }), ...links(30, { changes: { url } }), link({ ...ofTag, action: 'merged' })],
    'created 2 links, changed the destination of 30 links and merged the tag Summer',
  ],
  [[...links(20, { changes: { url } }), ...links(20, { changes: { title: ['a', 'b'] } })], 'changed 40 links'],
  [links(1_000, { action: 'created' }), 'created 1,000 links'],
  [links(3, { changes: { tags: [[], ['a']] } }), 'changed the tags of 3 links'],
  [[link({ changes: { url } }), link({ changes: { title: ['a', 'b'] } })], 'changed 2 links'],
  [
    [link({ changes: { disabled: [true, false] } }), ...links(2, { changes: { disabled: [true, false] } })],
    'enabled 3 links',
  ],
] as const) {
  test(`says “Ben ${sentence}” for a batch`, async () => {
    const { account, browser } = await newOwner(app)
    await record(person(account, 'Ben'), ...events)
    assert.equal((await browser.open('/app/history')).deeds[0], `Ben ${sentence}`)
  })
}

test('filters by record, type, author and date, and by what only the URL names', async () => {
  const { account, browser } = await newOwner(app)
  const ana = person(account)
  await record(ana, link({ changes: { url } }))
  await record(commandActor(account, 'root'), link({ ...ofTag, action: 'merged' }))
  const shown = async (query: string) => (await browser.open(`/app/history?${query}`)).deeds
  const [changed, merged] = [
    'Ana changed the destination of go.acme.com/summer',
    'Command line (root) merged the tag Summer',
  ]
  for (const [query, yes, no] of [
    ['record=tag', merged, changed],
    ['record=link', changed, merged],
    ['type=tag.merged', merged, changed],
    ['actor=command', merged, changed],
    ['actor=member', changed, merged],
    ['record=link&record_id=9999', changed, merged],
    [`batch_id=${ana.batchId}`, changed, merged],
  ] as const) {
    const said = await shown(query)
    assert.ok(said.includes(yes) && !said.includes(no), `${query}: ${said}`)
  }
  const today = new Date().toISOString().slice(0, 10)
  assert.ok((await shown(`from=${today}`)).includes(merged))
  assert.deepEqual(await shown('from=2090-01-01'), [])
  assert.deepEqual(await shown('to=2020-01-01'), [])
  const page = await browser.open('/app/history?record=link&record_id=9999&actor=member')
  assert.match(page.text, /Only go\.acme\.com\/summer/)
  assert.ok(page.links.includes('/app/history?actor=member'))
  assert.equal(page.value('record_id'), '9999')
  assert.match((await browser.open('/app/history?type=space.restored')).text, /No changes match these filters/)
  assert.equal((await browser.get('/app/history?type=nothing')).status, 422)
})

test('says what is wrong with dates, and keeps the filters', async () => {
  const { browser } = await newOwner(app)
  for (const [from, to, words] of [
    ['2026-11-21', '2026-11-20', '“To” must not be before the first day.'],
    ['2026-11-21', '2026-02-30', '“To” must be'],
    ['soon', '2026-02-20', '“From” must be'],
  ] as const) {
    const page = await browser.open(`/app/history?record=link&record_id=9999&actor=member&from=${from}&to=${to}`)
    assert.ok(page.text.includes(`Check the dates${words}`), page.text)
    const kept = ['record', 'record_id', 'by', 'from', 'to'].map((name) => page.value(name))
    assert.deepEqual(kept, ['link', '9999', 'member', from, to])
  }
  for (const query of ['from=2026-11-21&from=soon', 'toString=x'])
    assert.equal((await browser.get(`/app/history?${query}`)).status, 422, query)
})

test('days begin in the time zone of the person, otherwise of the account', async () => {
  const { account, browser } = await newOwner(app)
  await record(person(account), link())
  for (const [path, timeZone] of [
    ['/app/account', 'Pacific/Kiritimati'],
    ['/app/profile', 'Pacific/Midway'],
  ] as const) {
    await browser.post(path, { name: 'Olga', time_zone: timeZone })
    const [heading] = allOf((await browser.open('/app/history')).root, 'h2').map(textOf)
    const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone })
    assert.equal(heading, `Today, ${day.format(new Date())}`)
  }
})

test('names no record of another account', async () => {
  const [mine, theirs] = [await newOwner(app), await newOwner(app)]
  const { id } = await theirs.stored('/spaces', { name: 'Theirs' })
  await record(person(mine.account), link({ changes: { space_id: [null, id] } }))
  const { deeds } = await mine.browser.open('/app/history')
  assert.equal(deeds[0], 'Ana moved go.acme.com/summer to a deleted space')
})

test('escapes hostile names and values', async () => {
  const { account, browser } = await newOwner(app)
  const bad = '"><script>alert(1)</script>&amp;'
  const changes = {
    title: [bad, `${bad}2`],
    tags: [[bad], [bad, 'x']],
    url: [`https://x.example/?${bad}`, bad],
  } as const
  await record(person(account, bad), link({ name: `go.acme.com/${bad}`, changes }), link({ ...ofTag, name: bad }))
  for (const path of ['/app/history', '/app/history?record=tag']) {
    const page = await browser.open(path)
    assert.equal(allOf(page.root, 'script').length, 1)
    assert.ok(page.text.includes(bad))
  }
})

/** Returns the facts of a link by label. */
async function factsOf({ browser }: Owner, id: number): Promise<Readonly<Record<string, string>>> {
  const { root } = await browser.open(`/app/links/${id}`)
  const [facts] = allOf(root, 'dl', { id: 'facts' })
  assert.ok(facts)
  const shown = allOf(facts, 'dd').map(textOf)
  return Object.fromEntries(allOf(facts, 'dt').map((label, at) => [textOf(label), shown[at] ?? '']))
}

test('the link page names who created and changed it, and shows its latest changes', async () => {
  const owner = await newOwner(app)
  const { account, browser, domain } = owner
  const { id } = await owner.link({ alias: 'summer' })
  await owner.send('PATCH', `/links/${id}`, { json: { title: 'Sale' } })
  for (let at = 0; at < 6; at += 1) {
    await record(
      person(account, `Ana ${at}`),
      link({ id, name: `${domain.name}/summer`, changes: { title: [null, `${at}`] } }),
    )
  }
  assert.match((await factsOf(owner, id)).Updated ?? '', /^just now by Ana 5$/)
  const page = await browser.open(`/app/links/${id}`)
  const said = page.deeds
  assert.equal(said.length, 5)
  assert.equal(said[0], `Ana 5 set the title of ${domain.name}/summer`)
  assert.ok(page.links.includes(`/app/history?record=link&record_id=${id}`))
})

for (const kind of ['domain', 'space', 'tag'] as const) {
  test(`the page of a ${kind} shows its changes`, async () => {
    const { account, browser, stored, domain } = await newOwner(app)
    const { id, name } = kind === 'domain' ? domain : await stored(`/${kind}s`, { name: 'Print' })
    await record(person(account), link({ record: kind, id, name, changes: { name: ['Paper', name] } }))
    const page = await browser.open(`/app/${kind}s/${id}`)
    assert.match(page.deeds[0] ?? '', /^Ana changed the (?:host )?name of /)
    assert.ok(page.links.includes(`/app/${kind}s/${id}`))
  })
}

test('says why a change can’t be undone', async (t) => {
  const { account, browser } = await newOwner(app)
  await record(person(account), link({ action: 'clicks_deleted' }))
  assert.match((await browser.open('/app/history')).text, /Can’t be undone/)
  await record(person(account), link({ action: 'deleted', changes: null }))
  assert.match((await browser.open('/app/history')).text, /deleted \S+ permanently .*Can’t be undone/)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 31 * 86_400_000 })
  await record(person(account), link({ action: 'deleted' }))
  t.mock.timers.reset()
  assert.match((await browser.open('/app/history')).text, /Too old to undo/)
})
