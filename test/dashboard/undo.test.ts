/** Undo in the dashboard: changes, notices, and links that stay. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import { newOwner, type Owner } from '../dashboard.ts'
import { rows, selected } from '../dashboard-links.ts'

const app = await startApp({ shortUrl: 'http://{domain}' })

/** Presses the button of the first entry. */
async function undoFirst({ browser }: Owner, path = '/app/history') {
  const page = await browser.open(path)
  return browser.submit(page, '/app/history/undo')
}

test('undoes a change with a button, and then says who undid it, with a link', async () => {
  const owner = await newOwner(app)
  const { id } = await owner.link({ alias: 'summer', title: 'Old' })
  await owner.send('PATCH', `/links/${id}`, { json: { title: 'New' } })
  const after = await owner.browser.follow(await undoFirst(owner))
  assert.match(after.page.said.join(), /^Change undone\. Changed the title of \S+\/summer\.$/)
  assert.equal((await owner.send('GET', `/links/${id}`)).body.data.title, 'Old')
  assert.match(after.page.text, /Undone by Olga .*just now/)
  for (const path of ['/app/history', `/app/links/${id}`]) {
    const { text } = await owner.browser.open(path)
    assert.equal(text.split(', undoing an earlier change').length, 2, text)
    assert.match(text, /changed the title of \S+ just now, undoing an earlier change/)
  }
  const [reversal] = (await owner.send('GET', '/events?sort=desc')).body.data
  assert.ok(after.page.links.includes(`/app/history?batch_id=${reversal.batch_id}`))
  assert.equal(after.page.actions.filter((action) => action === '/app/history/undo').length, 3)
})

test('undoing a creation on the page of the record returns to the list', async () => {
  const owner = await newOwner(app)
  const { id } = await owner.link()
  const answer = await undoFirst(owner, `/app/links/${id}`)
  assert.equal(answer.headers.location, '/app/links')
  assert.equal((await owner.send('GET', `/links/${id}`)).status, 404)
})

test('undoes a batch as a whole, and lists what stayed with the reason', async () => {
  const owner = await newOwner(app)
  const json = { links: ['a', 'b', 'c'].map((alias) => ({ url: 'https://acme.com/', alias })) }
  const { status, body } = await owner.send('POST', '/links/bulk', { json })
  assert.ok(status < 300, JSON.stringify(body))
  const [event] = (await owner.send('GET', '/events?sort=desc')).body.data
  await owner.send('PATCH', `/links/${event.record_id}`, { json: { title: 'Kept' } })
  const form = { batch: event.batch_id, next: '/app/history' }
  const { status: shown, page } = await owner.browser.post('/app/history/undo', form)
  assert.deepEqual([shown, page.heading], [200, '2 changes undone, 1 other stayed'])
  assert.match(page.text, /This change stayed:\s*\S+\/c: “Title” of the link has been changed again since\./)
  const batch = await owner.browser.open(`/app/history?batch_id=${event.batch_id}`)
  assert.match(batch.text, /Undo: 2 of 3 done/)
  assert.match(batch.text, /Undo the rest/)
})

test('ends the offer when a part of its changes stays, and says when nothing is left', async () => {
  const { browser, ...owner } = await newOwner(app)
  const links = [await owner.link(), await owner.link()]
  const page = await browser.after(await browser.post(selected, { what: 'disable', ...rows(...links) }))
  assert.match(page.said.join(), /Disabled 2 links\. Undo Dismiss/)
  await owner.send('PATCH', `/links/${links[0]?.id}`, { json: { disabled: false } })
  const answer = await browser.submit(page, '/app/history/undo')
  assert.equal(answer.page.heading, '1 change undone, 1 other stayed')
  assert.deepEqual((await browser.open('/app/about')).said, [])
  await owner.send('PATCH', `/links/${links[0]?.id}`, { json: { disabled: true } })
  const { batch = '' } = page.form('/app/history/undo')
  for (const said of [/^Change undone\. Enabled /, /^Nothing was left to undo\.$/]) {
    assert.match((await browser.after(await browser.post('/app/history/undo', { batch }))).said.join(), said)
  }
})

test('a batch that takes too long to undo leads to its page, which offers to undo the rest', async (t) => {
  const { browser, ...owner } = await newOwner(app)
  const links = Array.from({ length: 1_000 }, () => ({ url: 'https://acme.com/', tags: ['new'] }))
  await owner.send('POST', '/links/bulk', { json: { links } })
  const [{ batch_id }] = (await owner.send('GET', '/events?sort=desc')).body.data
  const { now } = Date
  let late = 0
  t.mock.method(Date, 'now', () => {
    late += 100
    return now() + late
  })
  const answer = await browser.post('/app/history/undo', { batch: batch_id, next: '/app/links' })
  t.mock.restoreAll()
  assert.equal(answer.headers.location, `/app/history?batch_id=${batch_id}`)
  const page = await browser.after(answer)
  assert.deepEqual(page.said, ['Change undone. Deleted 1,000 links.'])
  assert.match(page.text, /Undo: 1,000 of 1,001 done\s*Undo the rest/)
})

test('names the field that was changed again by its label', async () => {
  const owner = await newOwner(app)
  const { id } = await owner.link({ alias: 'summer' })
  for (const redirect_password of ['one', 'other']) {
    await owner.send('PATCH', `/links/${id}`, { json: { redirect_password } })
  }
  const [, event] = (await owner.send('GET', '/events?sort=desc')).body.data
  const { status, page } = await owner.browser.post('/app/history/undo', { event: String(event.id), next: '/app/tags' })
  assert.deepEqual([status, page.heading], [200, 'Nothing was undone'])
  assert.match(page.text, /\/summer: “Password” of the link has been changed again since\./)
  assert.ok(page.links.includes('/app/tags'))
})

test('rejects a batch with control characters or too many characters', async () => {
  const { browser } = await newOwner(app)
  for (const batch of ['a\0b', 'a'.repeat(1_000)]) {
    assert.equal((await browser.post('/app/history/undo', { batch })).status, 422)
  }
})
