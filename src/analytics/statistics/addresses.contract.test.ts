/** Clicks of a link by its addresses: in their records, and in `GET /stats?name=addresses`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import type { Json } from '../../../test/client.ts'
import { addressesIn } from '../../../test/link-addresses.ts'
import { fresh, newPlace } from '../../../test/links-api.ts'
import { eventually } from '../../../test/processes.ts'
import { person } from '../../../test/visitors.ts'

const app = await startApp({ shortUrl: 'https://{domain}' })
const place = await newPlace(app)
const { send, stored } = place
const { link, add, addressesOf, update } = addressesIn(app, place)

const pairs = ({ data }: Json) => data.map(({ value, clicks }: Json) => `${value} ${clicks}`)
const statsOf = async (of: Json, query = '') =>
  pairs((await send('GET', `/stats?name=addresses&link_id=${of.id}${query}`)).body)
const clicksOf = async (of: Json) => (await send('GET', `/links/${of.id}`)).body.data.clicks
const addressClicks = async (of: Json) =>
  (await send('GET', `${addressesOf(of)}?sort=asc`)).body.data.map(({ clicks }: Json) => clicks)

/** Visits a short URL, and resolves when the link has this many clicks. */
async function visit(of: Json, urls: readonly string[], total: number, headers = {}): Promise<void> {
  for (const url of urls) {
    const { status } = await app.visit(url.replace('https:', 'http:'), {
      headers: { 'user-agent': person, ...headers },
    })
    assert.equal(status, 302)
  }
  await eventually(async () => (await clicksOf(of)) === total)
}

test('clicks count for the address and the link, also for visitors who ask not to be tracked; bots only for the link', async () => {
  const other = await stored('/domains', { name: `${fresh('other')}.example` })
  const to = await link()
  const [one, two] = [await add(to, { alias: fresh('One') }), await add(to, { domain_id: other.id, exact: true })]
  assert.deepEqual([await statsOf(to), await addressClicks(to)], [[], [0, 0]])
  await visit(to, [to.short_url, one.short_url, one.short_url.toLowerCase(), two.short_url], 4)
  await visit(to, [one.short_url], 5, { 'sec-gpc': '1' })
  await visit(to, [two.short_url], 6, { dnt: '1' })
  await visit(to, [two.short_url], 6, { 'user-agent': 'curl/8.0' })
  assert.deepEqual(await addressClicks(to), [3, 2])
  assert.deepEqual(await statsOf(to), [`${one.short_url} 3`, `${two.short_url} 2`, `${to.short_url} 1`])
  const { meta } = (await send('GET', `/stats?name=addresses&link_id=${to.id}&per_page=10&sort_by=value&sort=asc`)).body
  assert.deepEqual([meta.clicks, meta.total], [6, 3])
})

test('the main address has the clicks of deleted addresses, and addresses keep theirs when they change places', async () => {
  const to = await link()
  const [one, two] = [await add(to), await add(to)]
  await visit(to, [to.short_url, one.short_url, one.short_url, two.short_url], 4)
  await send('DELETE', `${addressesOf(to)}/${one.id}`)
  assert.deepEqual(await statsOf(to), [`${to.short_url} 3`, `${two.short_url} 1`])
  const promoted = (await update(to, { alias: two.alias, keep_address: true })).body.data
  assert.equal(promoted.clicks, 4)
  assert.deepEqual(await statsOf(to), [`${promoted.short_url} 3`, `${to.short_url} 1`])
  await visit(to, [to.short_url], 5)
  assert.deepEqual(
    [await statsOf(to), await addressClicks(to)],
    [[`${promoted.short_url} 3`, `${to.short_url} 2`], [2]],
  )
})

test('an address returns with its clicks, and loses them with those of the link', async () => {
  const to = await link()
  const one = await add(to)
  await visit(to, [to.short_url, one.short_url, one.short_url], 3)
  await send('DELETE', `${addressesOf(to)}/${one.id}`)
  const [{ id }] = (await send('GET', `/events?record=link&record_id=${to.id}`)).body.data
  assert.equal((await send('POST', `/events/${id}/undo`)).status, 200)
  assert.deepEqual(await addressClicks(to), [2])
  assert.deepEqual(await statsOf(to), [`${one.short_url} 2`, `${to.short_url} 1`])
  await send('DELETE', `/links/${to.id}`)
  const [deletion] = (await send('GET', `/events?type=link.deleted&record=link&record_id=${to.id}`)).body.data
  await send('POST', `/events/${deletion.id}/undo`)
  assert.deepEqual([await addressClicks(to), await clicksOf(to)], [[2], 3])
  assert.equal((await send('DELETE', `/links/${to.id}/clicks`)).status, 204)
  assert.deepEqual([await addressClicks(to), await statsOf(to)], [[0], []])
})

test('an exhausted click limit counts clicks at all addresses', async () => {
  const to = await link({ clicks_limit: 2 })
  const one = await add(to)
  await visit(to, [to.short_url, one.short_url], 2)
  const { status } = await app.visit(one.short_url.replace('https:', 'http:'), { headers: { 'user-agent': person } })
  assert.equal(status, 410)
})
