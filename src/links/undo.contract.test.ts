/** Deleting and restoring a link, for its account, its visitors and other nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { stopMonotonicClock } from '../../test/clock.ts'
import { fresh, newPlace, type Place } from '../../test/links-api.ts'
import { Directory } from '../redirect/directory.ts'
import { openStorage } from '../storage/open.ts'

const app = await startApp()
const { links } = app.actions

async function statsOf({ send }: Place, query: Json): Promise<unknown> {
  const answers = ['clicks', 'countries', 'browsers'].map(async (name) => {
    const { status, body } = await send('GET', `/stats?${new URLSearchParams({ name, ...query })}`)
    return [status, body.data]
  })
  return Promise.all(answers)
}

/** How many links there are, and which of them a search for `text` finds. */
async function foundBy({ send }: Place, text: string): Promise<[total: number, ...ids: number[]]> {
  const [all, found] = await Promise.all([
    send('GET', '/links'),
    send('GET', `/links?${new URLSearchParams({ search: text })}`),
  ])
  return [all.body.meta.total, ...found.body.data.map(({ id }: Json) => id)]
}

test('deletes and restores a link immediately and completely', async () => {
  const own = await newPlace(app)
  const space = await own.stored('/spaces', { name: 'Sales' })
  const alias = fresh('Sommer')
  const link = await own.link({ alias, space_id: space.id, title: 'Straßenfest', forward_query: true, clicks_limit: 9 })
  await own.link({ title: 'Another' })
  const path = `/links/${link.id}`
  const url = `http://${own.domain.name}/${alias}`
  assert.equal((await app.visit(url)).status, 302)
  const before = await own.send('GET', path)
  assert.equal(before.body.data.clicks, 1)
  assert.deepEqual(await foundBy(own, 'straßenfest'), [2, link.id])

  await links.removeWithUndo(own.account, link.id)
  assert.equal((await app.visit(url)).status, 404)
  assert.equal((await own.send('GET', path)).status, 404)
  assert.equal((await own.send('DELETE', path)).status, 404)
  assert.deepEqual(await foundBy(own, 'straßenfest'), [1])

  const back = await links.restore(own.account, link.id)
  assert.equal(back?.record.alias, alias)
  assert.equal((await app.visit(url)).status, 302)
  assert.deepEqual(await foundBy(own, 'straßenfest'), [2, link.id])
  const after = await own.send('GET', path)
  assert.deepEqual(after.body.data, {
    ...before.body.data,
    clicks: 2,
    last_clicked_at: after.body.data.last_clicked_at,
  })
})

test('restores the statistics, including clicks that were not written before', async () => {
  const own = await newPlace(app)
  const link = await own.link({ alias: fresh('sale') })
  const url = `http://${own.domain.name}/${link.alias}`
  for (let visits = 0; visits < 3; visits++) assert.equal((await app.visit(url)).status, 302)
  await links.removeWithUndo(own.account, link.id)
  await links.restore(own.account, link.id)
  assert.equal((await own.send('GET', `/links/${link.id}`)).body.data.clicks, 3)
  const stats = await statsOf(own, { link_id: String(link.id) })
  const ofDomain = await statsOf(own, { domain_id: String(own.domain.id) })
  await links.removeWithUndo(own.account, link.id)
  const [[status]] = (await statsOf(own, { link_id: String(link.id) })) as [[number]]
  assert.equal(status, 422)
  await links.restore(own.account, link.id)
  assert.deepEqual(await statsOf(own, { link_id: String(link.id) }), stats)
  assert.deepEqual(await statsOf(own, { domain_id: String(own.domain.id) }), ofDomain)
})

test('does not restore a link that the API deleted', async () => {
  const own = await newPlace(app)
  const link = await own.link()
  assert.equal((await own.send('DELETE', `/links/${link.id}`)).status, 204)
  assert.equal(await links.restore(own.account, link.id), undefined)
})

test('another node redirects again within a second', async (t) => {
  const own = await newPlace(app)
  const link = await own.link({ alias: fresh('sale') })
  const storage = await openStorage(app.storage.location)
  t.after(() => storage.close())
  const tick = stopMonotonicClock(t)
  const directory = new Directory(storage, { staleForMs: 3_600_000, onProblem: assert.ifError })
  t.after(() => directory.close())
  await directory.start()
  const served = async () => {
    await directory.domainsChanged()
    const domain = directory.domainNamed(own.domain.name)
    assert.ok(domain)
    return (await directory.linkOf(domain, link.alias))?.id
  }
  assert.equal(await served(), link.id)
  await links.removeWithUndo(own.account, link.id)
  assert.equal(await served(), undefined)
  await links.restore(own.account, link.id)
  tick(1_000)
  assert.equal(await served(), link.id)
})
