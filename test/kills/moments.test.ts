/** Servers that are killed at one moment of their work. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Json } from '../client.ts'
import { signedIn } from '../dashboard.ts'
import { fillLinks } from '../links.ts'
import { eventually } from '../processes.ts'
import { storageAt } from '../visited-server.ts'
import { person } from '../visitors.ts'
import { type Engine, engines, KilledServer } from './killed-server.ts'

/** Starts a server with two domains, and stores links on the first one without the API. */
async function startWithLinks(t: TestContext, names: readonly [string, string], links: number) {
  const killed = await KilledServer.start(t, 'sqlite')
  const storage = await storageAt(t, killed.variables)
  const [{ id: domain }, { id: other }] = [
    await killed.server.stored('/domains', { name: names[0] }),
    await killed.server.stored('/domains', { name: names[1] }),
  ]
  for (let from = 1; from < links; from += 3_000) await fillLinks(storage, { account: 1, domain }, from, 3_000)
  return { killed, domain, other }
}

test('SIGKILL during a move of many links leaves each link moved or not, and its event with it', async (t) => {
  const { killed, domain, other } = await startWithLinks(t, ['from.acme.com', 'to.acme.com'], 3_000)
  const browser = await signedIn(killed.server)
  const form = { what: 'move', to: `domain-${other}`, matching: '1', next: `/app/links?domain_id=${domain}` }
  const { page } = await browser.post('/app/links/selected', form)
  const moving = browser.submit(page, '/app/links/selected')
  await killed.killDuring([moving], async () => (await killed.count(`links where domain_id = ${other}`)) > 0)
  const moved = await killed.query(`select id from links where domain_id = ${other} order by id`)
  assert.ok(moved.length > 0)
  for (const rows of [
    "select record_id as id from events where record = 'link' order by record_id",
    `select link_id as id from link_clicks where domain_id = ${other} order by link_id`,
  ]) {
    assert.deepEqual(await killed.query(rows), moved)
  }
})

test('after a SIGKILL, the next start finishes a removal and serves the other links', async (t) => {
  const { killed, domain, other } = await startWithLinks(t, ['doomed.acme.com', 'go.acme.com'], 6_000)
  await killed.server.stored('/links', {
    domain_id: other,
    alias: 'sale',
    url: 'https://acme.com',
    redirect_status: 307,
  })
  const count = () => killed.count(`links where domain_id = ${domain}`)
  assert.equal(await count(), 6_000)
  const removing = killed.server.ask('DELETE', `/domains/${domain}?links=delete`)
  let left = 0
  await killed.killDuring([removing], async () => {
    left = await count()
    return left < 5_900
  })
  assert.ok(left > 0, 'the removal was not interrupted')
  const { status, headers } = await killed.server.visit('http://go.acme.com/sale')
  assert.deepEqual([status, headers.location], [307, 'https://acme.com/'])
  await eventually(async () => (await count()) === 0)
  assert.equal((await killed.server.stored('/domains', { name: 'doomed.acme.com' })).id > domain, true)
  assert.equal((await killed.server.end('SIGTERM')).code, 0)
})

for (const engine of engines) {
  test(`after a SIGKILL, the clicks of addresses, days and links agree: ${engine}`, (t) => checkClicks(t, engine))
}

async function checkClicks(t: TestContext, engine: Engine): Promise<void> {
  const killed = await KilledServer.start(t, engine)
  const { server } = killed
  await server.stored('/domains', { name: 'go.acme.com' })
  const { id, alias } = await server.stored('/links', { url: 'https://acme.com' })
  const path = `/links/${id}/addresses`
  const [one, two] = [await server.stored(path, {}), await server.stored(path, { exact: true })]
  const urls = [alias, one.alias, two.alias].map((name) => `http://go.acme.com/${name}`)
  const visitor = async () => {
    for (let at = 0; ; at += 1) await server.visit(urls[at % 3] as string, { headers: { 'user-agent': person } })
  }
  const stored = () => killed.numbers(`select clicks from link_clicks where link_id = ${id}`)
  await killed.killDuring([visitor(), visitor(), visitor()], async () => ((await stored())[0] ?? 0) > 100)
  const total = (await killed.server.ask('GET', `/links/${id}`)).body.data.clicks
  const further = (await killed.server.ask('GET', `${path}?sort=asc`)).body.data
  const { data, meta } = (await killed.server.ask('GET', `/stats?name=addresses&link_id=${id}`)).body
  const clicksAt = (name: string) => data.find(({ value }: Json) => value.endsWith(`/${name}`)).clicks
  assert.equal(meta.clicks, total)
  assert.deepEqual(
    further.map(({ alias: name }: Json) => clicksAt(name)),
    further.map(({ clicks }: Json) => clicks),
  )
  assert.ok(clicksAt(alias) > 20 && further.every(({ clicks }: Json) => clicks > 20), JSON.stringify(data))
}
