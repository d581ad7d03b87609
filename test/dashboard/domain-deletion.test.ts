/** Deleting a domain in the dashboard: the typed name, the figures, and undo, for its account and its visitors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { domainRemoval } from '../../src/domains/store.ts'
import { Directory } from '../../src/redirect/directory.ts'
import { openStorage } from '../../src/storage/open.ts'
import { finishRemovals } from '../../src/storage/removal.ts'
import { startApp } from '../app.ts'
import { type Page, signedIn } from '../dashboard.ts'
import { newPlace, type Place } from '../links-api.ts'

const app = await startApp()

async function place() {
  const own = await newPlace(app)
  const browser = await signedIn(app, own.key)
  const path = `/app/domains/${own.domain.id}`
  const remove = async () => {
    const answer = await browser.submit(await browser.open(`${path}/delete`), `${path}/delete`, {
      name: own.domain.name,
    })
    return (await browser.follow(answer)).page
  }
  const undo = async (page: Page) => (await browser.follow(await browser.submit(page, `${path}/restore`))).page
  return { ...own, browser, path, remove, undo }
}

const records = async ({ send }: Place) =>
  Promise.all(['/domains', '/links', '/spaces'].map(async (path) => (await send('GET', path)).body))

test('names the links and the clicks, and asks for the name, which the server checks', async () => {
  const { browser, path, domain, link, send } = await place()
  // Clicks on a link with a limit are written before the redirect.
  const first = await link({ alias: 'sale', clicks_limit: 9 })
  await link()
  const asked = await browser.open(`${path}/delete`)
  assert.equal(asked.heading, `Delete ${domain.name} and its 2 links?`)
  assert.match(asked.text, /It had no clicks in the last 30 days\. Visitors will see a 404 immediately/)
  assert.match(asked.text, /You can undo this for a minute/)
  for (let visits = 0; visits < 2; visits++) await app.visit(`http://${domain.name}/sale`)
  assert.equal((await send('GET', `/links/${first.id}`)).body.data.clicks, 2)
  const { text } = await browser.open(`${path}/delete`)
  assert.match(text, /It had 2 clicks in the last 30 days, the last (?:just now|\d+ seconds? ago)\./)
  for (const name of [undefined, '', 'other.example', `x${domain.name}`, '<script>', `https://${domain.name}`]) {
    const { status, page } = await browser.submit(asked, `${path}/delete`, { name })
    assert.equal(status, 422)
    assert.match(page.errorOf('name'), new RegExp(`Type ${domain.name} to delete it\\.`))
    assert.equal(page.heading, `Delete ${domain.name} and its 2 links?`)
  }
  assert.equal((await send('GET', `/domains/${domain.id}`)).status, 200)
  const typed = ` ${domain.name.toUpperCase()} `
  assert.equal((await browser.submit(asked, `${path}/delete`, { name: typed })).headers.location, '/app/domains')
  assert.equal((await send('GET', `/domains/${domain.id}`)).status, 404)
})

test('accepts the name of an international domain in both forms', async () => {
  for (const name of ['bücher.example', 'xn--bcher-kva.example']) {
    const { stored, browser } = await place()
    const { id } = await stored('/domains', { name: 'bücher.example' })
    const { status } = await browser.post(`/app/domains/${id}/delete`, { name })
    assert.equal(status, 303, name)
  }
})

test('visitors get 404 immediately; undo restores the domain, its settings, links and clicks', async () => {
  const all = await place()
  const { browser, domain, path, link, stored, send, remove, undo } = all
  await send('PATCH', `/domains/${domain.id}`, { form: { homepage_url: 'https://acme.com/', not_found_url: '' } })
  const space = await stored('/spaces', { name: 'Sales' })
  const sale = await link({ alias: 'sale', space_id: space.id, clicks_limit: 9 })
  const second = await stored('/domains', { name: `second.${domain.name}` })
  const stays = await link({ domain_id: second.id })
  const url = `http://${domain.name}/sale`
  assert.equal((await app.visit(url)).status, 302)
  assert.equal((await send('GET', `/links/${sale.id}`)).body.data.clicks, 1)
  const before = await records(all)

  const deleted = await remove()
  assert.equal(deleted.said.join(), `${domain.name} deleted. Undo Dismiss`)
  assert.equal((await app.visit(url)).status, 404)
  assert.equal((await app.visit(`http://${domain.name}/`)).status, 404)
  assert.equal((await browser.get(path)).status, 404)
  const links = (await send('GET', '/links')).body
  assert.deepEqual([links.data, links.meta.total], [[stays], 1])
  assert.equal((await send('GET', '/links?search=sale')).body.meta.total, 0)
  assert.equal((await send('GET', '/links?sort_by=clicks')).body.meta.total, 1)
  assert.equal((await send('GET', '/domains')).body.meta.total, 1)
  await finishRemovals(app.storage, domainRemoval)

  const back = await undo(deleted)
  assert.equal(back.said.join(), `${domain.name} restored.`)
  assert.deepEqual(await records(all), before)
  assert.equal((await app.visit(url)).status, 302)
  assert.equal((await send('GET', `/links/${sale.id}`)).body.data.clicks, 2)
  const [{ data }] = [(await send('GET', `/stats?name=clicks&domain_id=${domain.id}`)).body]
  assert.match(JSON.stringify(data), /"clicks":2/)
})

test('undo changes nothing if the name was added again, or a minute has passed', async (t) => {
  const { domain, path, browser, remove, undo, link } = await place()
  await link()
  const other = await newPlace(app)
  const deleted = await remove()
  const same = await other.stored('/domains', { name: domain.name })
  assert.match((await undo(deleted)).said.join(), /its name has been added again/)
  assert.equal((await other.send('GET', `/domains/${same.id}`)).status, 200)
  const now = Date.now()
  t.mock.method(Date, 'now', () => now + 61_000)
  const late = await browser.follow(await browser.post(`${path}/restore`))
  assert.match(late.page.said.join(), /more than a minute has passed/)
})

test('the API deletes immediately, and its deletion cannot be undone', async () => {
  const { domain, path, browser, send, link } = await place()
  await link()
  assert.equal((await send('DELETE', `/domains/${domain.id}?links=delete`)).status, 204)
  const { page } = await browser.follow(await browser.post(`${path}/restore`))
  assert.match(page.said.join(), /couldn’t be restored/)
})

test('another node stops and starts serving the domain at its next look at the changes', async (t) => {
  const { domain, remove, undo, link } = await place()
  const { id, alias } = await link()
  const storage = await openStorage(app.storage.location)
  t.after(() => storage.close())
  const directory = new Directory(storage, { staleForMs: 3_600_000, onProblem: assert.ifError })
  t.after(() => directory.close())
  await directory.start()
  const served = async () => {
    await directory.domainsChanged()
    const found = directory.domainNamed(domain.name)
    return found && (await directory.linkOf(found, alias))?.id
  }
  assert.equal(await served(), id)
  const deleted = await remove()
  assert.equal(await served(), undefined)
  await undo(deleted)
  assert.equal(await served(), id)
})
