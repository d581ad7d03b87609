/** The history of one author: changes together, undone together, and as a file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor } from '../../src/access/actor.ts'
import { recordEvents } from '../../src/events/log.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp } from '../app.ts'
import { newOwner } from '../dashboard.ts'
import { newMember } from '../members.ts'

const app = await startApp({ shortUrl: 'http://{domain}' })

/** Stores a change of a link by a person. */
function change(account: number, name: string, id: number | null = null) {
  const author = createActor({ account, kind: 'member', id, name, scopes: ['*'] }, null)
  const changes = { url: ['https://acme.com/old', 'https://acme.com/new'] } as const
  const event = { record: 'link', action: 'updated', id: 9_999, name: 'go.acme.com/summer', changes } as const
  return app.storage.write((tx) => recordEvents(tx, author, [event]))
}

test('shows alike changes of one author within an hour as one entry, which undoes all of them', async () => {
  const owner = await newOwner(app)
  const { browser, account } = owner
  const created = []
  for (const alias of ['a', 'b', 'c']) created.push(await owner.link({ alias }))
  const page = await browser.open('/app/history')
  const [deed] = page.deeds
  assert.match(deed ?? '', /^API key test created 3 links$/)
  assert.match(page.text, /3 changes/)
  const { page: undone } = await browser.follow(await browser.submit(page, '/app/history/undo'))
  assert.match(undone.said.join(), /^Change undone\. Deleted 3 links\./)
  assert.equal((await owner.send('GET', '/links')).body.meta.total, 0)
  // Two changes stay apart, and so do those of other authors.
  await change(account, 'Ben')
  await change(account, 'Ben')
  await change(account, 'Eve')
  assert.deepEqual((await browser.open('/app/history')).deeds.slice(0, 3), [
    'Eve changed the destination of go.acme.com/summer',
    'Ben changed the destination of go.acme.com/summer',
    'Ben changed the destination of go.acme.com/summer',
  ])
})

test('undoes the changes that the filters show, but not what was undone or redone already', async () => {
  const owner = await newOwner(app)
  const { browser, send } = owner
  const { id } = await owner.link({ alias: 'a', title: 'Old' })
  const [first] = (await send('GET', '/events')).body.data
  const titles = ['One', 'Two', 'Three']
  for (const title of titles) await send('PATCH', `/links/${id}`, { json: { title } })
  const [third] = (await send('GET', '/events')).body.data
  await send('POST', `/events/${third.id}/undo`)
  const path = `/app/history?by=key:${first.actor.id}&type=link.updated`
  const page = await browser.open(path)
  assert.equal(page.value('by'), `key:${first.actor.id}`)
  assert.match(page.text, /Undo these 2/)
  // The page doesn't know this change.
  const later = await owner.link({ alias: 'later', title: 'Kept' })
  await send('PATCH', `/links/${later.id}`, { json: { title: 'Changed later' } })
  const { page: question } = await browser.submit(page, '/app/history/undo')
  assert.equal(question.heading, 'Undo 2 changes?')
  assert.match(question.text, /Someone changed the title of 2 links\./)
  assert.equal((await send('GET', `/links/${id}`)).body.data.title, 'Two')
  const after = await browser.follow(await browser.submit(question, '/app/history/undo'))
  assert.match(after.page.said.join(), /^Change undone\. Changed the title of 2 links\./)
  assert.equal((await send('GET', `/links/${id}`)).body.data.title, 'Old')
  assert.equal((await send('GET', `/links/${later.id}`)).body.data.title, 'Changed later')
  for (const form of [{ filter: '?record_id=1', newest: '1' }, { filter: '?record=link' }])
    assert.equal((await browser.post('/app/history/undo', form)).status, 422)
  assert.equal((await browser.post('/app/history/undo', { events: 'x' })).status, 422)
})

test('offers no undo of changes that are undone already, and the days of the file are those of the page', async () => {
  const owner = await newOwner(app)
  const { browser, send } = owner
  const { id } = await owner.link({ title: 'Old' })
  for (const title of ['One', 'Two']) await send('PATCH', `/links/${id}`, { json: { title } })
  const events = (await send('GET', '/events?type=link.updated')).body.data
  for (const event of events) await send('POST', `/events/${event.id}/undo`)
  assert.doesNotMatch((await browser.open('/app/history?type=link.updated')).text, /Undo these/)
  const zone = 'Pacific/Kiritimati'
  assert.equal((await browser.post('/app/profile/time-zone', { time_zone: zone })).status, 303)
  const own = query.updateTable('events').set({ created_at: '2026-11-01T12:00:00.000Z' })
  await app.storage.execute(own.where('account_id', '=', owner.account).where('record', '=', 'link'))
  const path = '?record=link&from=2026-11-02&to=2026-11-02'
  const shown = (await browser.open(`/app/history${path}`)).deeds.length
  const file = (await browser.get(`/app/history.csv${path}`)).text.trimEnd().split('\r\n')
  assert.ok(shown > 0 && file.length > 1, `${shown} ${file.length}`)
})

test('a CSV file has the changes that the filters show', async () => {
  const owner = await newOwner(app)
  await owner.link({ alias: 'a' })
  await owner.stored('/spaces', { name: 'Print' })
  const page = await owner.browser.open('/app/history?record=space')
  assert.ok(page.links.includes('/app/history.csv?record=space'), page.links.join())
  const { headers, text } = await owner.browser.get('/app/history.csv?record=space')
  assert.equal(headers['content-disposition'], 'attachment; filename="history.csv"')
  const rows = text.trimEnd().split('\r\n')
  assert.match(rows[0] ?? '', /^\ufeffid,type,record,/)
  assert.deepEqual(
    rows.slice(1).map((row) => row.split(',')[1]),
    ['space.created'],
  )
  assert.equal((await owner.browser.get('/app/history.csv?record_id=1')).status, 422)
})

test('the page of a member shows their latest changes, with a link to all, and the key list links to those of each key', async () => {
  const owner = await newOwner(app)
  const member = await newMember(app.storage, owner.account, { name: 'Mira', role: 'editor' })
  await change(owner.account, 'Mira', member.id)
  const page = await owner.browser.open(`/app/people/${member.id}`)
  assert.match(page.text, /Latest changes.*changed the destination of go\.acme\.com\/summer/s)
  const all = `/app/history?actor=member&actor_id=${member.id}`
  assert.ok(page.links.includes(all))
  const history = await owner.browser.open(all)
  assert.deepEqual(history.deeds, ['Mira changed the destination of go.acme.com/summer', 'Mira joined the account'])
  assert.equal(history.value('by'), `member:${member.id}`)
  const keys = await owner.browser.open('/app/keys')
  assert.ok(keys.links.some((href) => /^\/app\/history\?actor=key&actor_id=\d+$/.test(href)))
})
