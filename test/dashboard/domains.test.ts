/** Domains in the dashboard: their facts, checks of their DNS, and deletion with the typed name, the figures and undo. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startApp, type TestApp } from '../app.ts'
import type { Json } from '../client.ts'
import { stopMonotonicClock } from '../clock.ts'
import { newOwner, type Page, signedIn } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { finishJobs } from '../jobs.ts'
import { newPlace } from '../links-api.ts'
import { listenOn } from '../servers.ts'

const app = await startApp()

async function place() {
  const { browser, ...own } = await newOwner(app)
  const path = `/app/domains/${own.domain.id}`
  const remove = () => browser.save(`${path}/delete`, { name: own.domain.name })
  const undo = async (page: Page) => browser.after(await browser.submit(page, '/app/history/undo'))
  return { ...own, browser, path, remove, undo }
}

test('names the links and the clicks, and asks for the name, which the server checks', async () => {
  const { browser, path, domain, link, send, stored } = await place()
  // Clicks on a link with a limit are written before the redirect.
  const first = await link({ alias: 'sale', clicks_limit: 9 })
  await link({ archived: true })
  const asked = await browser.open(`${path}/delete`)
  assert.equal(asked.heading, `Delete ${domain.name} and its 2 links?`)
  assert.match(asked.text, /It had no clicks in the last 30 days\. Visitors will see a 404 immediately/)
  assert.match(asked.text, /You can undo this in the history for 30 days/)
  for (let visits = 0; visits < 2; visits++) await app.visit(`http://${domain.name}/sale`)
  assert.equal((await send('GET', `/links/${first.id}`)).body.data.clicks, 2)
  const { text } = await browser.open(`${path}/delete`)
  assert.match(text, /It had 2 clicks in the last 30 days, the last (?:just now|\d+ seconds? ago)\./)
  for (const name of [undefined, '', 'other.example', `x${domain.name}`, '<script>', `https://${domain.name}`]) {
    const { status, page } = await browser.submit(asked, `${path}/delete`, { name })
    assert.equal(status, 422)
    assert.match(page.errorOf('name'), new RegExp(`Type ${domain.name} to confirm\\.`))
    assert.equal(page.heading, `Delete ${domain.name} and its 2 links?`)
  }
  assert.equal((await send('GET', `/domains/${domain.id}`)).status, 200)
  const typed = ` ${domain.name.toUpperCase()} `
  assert.equal((await browser.submit(asked, `${path}/delete`, { name: typed })).headers.location, '/app/domains')
  assert.equal((await send('GET', `/domains/${domain.id}`)).status, 404)
  for (const name of ['bücher.example', 'xn--bcher-kva.example']) {
    const { id } = await stored('/domains', { name: 'bücher.example' })
    assert.equal((await browser.post(`/app/domains/${id}/delete`, { name })).status, 303, name)
  }
})

test('visitors get 404 immediately; undo restores the domain, its links and clicks', async () => {
  const { browser, domain, path, link, send, remove, undo } = await place()
  await link({ alias: 'sale', clicks_limit: 9 })
  const url = `http://${domain.name}/sale`
  assert.equal((await app.visit(url)).status, 302)
  // The undo is a change, too.
  const timeless = (path: string) =>
    send('GET', path).then(({ body }) => body.data.map((each: Json) => ({ ...each, updated_at: '' })))
  const records = () => Promise.all([timeless('/domains'), timeless('/links')])
  const before = await records()

  const deleted = await remove()
  assert.match(deleted.said.join(), new RegExp(`^Deleted ${domain.name}.*\\. Undo Dismiss$`))
  for (const gone of [url, `http://${domain.name}/`]) assert.equal((await app.visit(gone)).status, 404)
  assert.equal((await browser.get(path)).status, 404)
  assert.deepEqual((await send('GET', '/links')).body.data, [])
  await finishJobs(app.storage)

  const back = await undo(deleted)
  assert.match(back.said.join(), new RegExp(`^Change undone\\. Restored ${domain.name} and \\S+\\.$`))
  assert.deepEqual(await records(), before)
  assert.equal((await app.visit(url)).status, 302)
  const { data } = (await send('GET', `/stats?name=clicks&domain_id=${domain.id}`)).body
  assert.match(JSON.stringify(data), /"clicks":2/)
})

/** Returns an app whose short URLs reach its redirect server while `isServing` returns true. */
async function reachableApp(t: TestContext, isServing: () => boolean): Promise<TestApp> {
  const server = createServer(async (request, response) => {
    const { text } = await app.visit(`http://localhost${request.url}`)
    response.end(isServing() ? text : 'another')
  })
  const port = await listenOn(t, server, 'localhost')
  const app = await startApp({ shortUrl: `http://{domain}:${port}` })
  return app
}

/** Returns the state of a domain in the list, and in the facts of its page. */
async function statesOf(browser: Awaited<ReturnType<typeof signedIn>>, id: number): Promise<string[]> {
  const rows = allOf((await browser.open('/app/domains')).root, 'td', { class: 'width-large' })
  const facts = allOf((await browser.open(`/app/domains/${id}`)).root, 'dd')
  return [...rows, ...facts.slice(3, 4)].map(textOf)
}

test('does not check a domain of another account', async (t) => {
  const app = await reachableApp(t, () => assert.fail('The domain was checked.'))
  const { body } = await app.send('POST', '/api/v1/domains', { form: { name: 'localhost' } })
  const stranger = await signedIn(app, (await newPlace(app)).key)
  assert.equal((await stranger.post(`/app/domains/${body.data.id}/check`)).status, 404)
})

test('shows the facts of a domain, with its name in ASCII to copy, and why the name is fixed', async () => {
  const { stored, browser } = await place()
  const urls = { homepage_url: 'https://acme.com/', not_found_url: 'https://acme.com/lost' }
  const { id } = await stored('/domains', { name: 'straße.example', ...urls })
  const { root } = await browser.open(`/app/domains/${id}`)
  const facts = allOf(root, 'dd').map(textOf)
  assert.deepEqual(facts.slice(0, 4), ['acme.com', 'acme.com/lost', '0 links', 'Not checked'])
  assert.match(facts[4] ?? '', /^xn--strae-oqa\.example/)
  const [copy] = allOf(root, 'dd').flatMap((fact) => allOf(fact, 'button'))
  assert.equal(copy?.attributes.get('data-copy'), 'xn--strae-oqa.example')
  const edit = await browser.open(`/app/domains/${id}/edit`)
  assert.ok(edit.links.includes(`/app/links/move?domain_id=${id}&archived=any`))
  assert.match(edit.text, /Host name\s*straße\.example A name can’t be changed.*Add the new name/)
})

test('checks a domain with a private address only for the first account', async (t) => {
  const app = await reachableApp(t, () => assert.fail('The domain was checked.'))
  const { browser, stored } = await newOwner(app)
  const { id } = await stored('/domains', { name: 'a.localhost' })
  const page = await browser.save(`/app/domains/${id}`, {}, `/app/domains/${id}/check`)
  assert.match(page.said.join(), /The domain has a private address, so Waymark didn’t check it\./)
  assert.match(page.text, /Waymark checks such domains only for the first account/)
  assert.deepEqual(await statesOf(browser, id).then((states) => states.at(-1)), 'Not checked')
})

// The last test, because it moves the clock.
test('remembers the last check of a domain, for its page and the list', async (t) => {
  let isServing = false
  const tick = stopMonotonicClock(t)
  const app = await reachableApp(t, () => isServing)
  const browser = await signedIn(app)
  const { body } = await app.send('POST', '/api/v1/domains', { form: { name: 'localhost' } })
  const { id, updated_at } = body.data
  const check = `/app/domains/${id}/check`
  assert.deepEqual(await statesOf(browser, id), ['This machine only', 'This machine only'])
  const failed = await browser.save(`/app/domains/${id}`, {}, check)
  assert.match(failed.said.join(), /Visitors don’t reach this server at the domain\./)
  assert.match(failed.text, /This domain points to another server.* Checked just now\./)
  assert.deepEqual(await statesOf(browser, id), ['Not reachable', 'Not reachable'])

  isServing = true
  tick(5_000)
  const reached = await browser.after(await browser.submit(failed, check))
  assert.match(reached.said.join(), /Visitors reach this server at the domain\./)
  assert.deepEqual(await statesOf(browser, id), ['This machine only', 'This machine only'])
  assert.equal((await app.send('GET', `/api/v1/domains/${id}`)).body.data.updated_at, updated_at)
})
