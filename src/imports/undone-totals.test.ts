/** For any import, an undo takes its clicks out of all totals, and an undo of the undo brings them back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { applyImport, planFile, undoImport } from '../../test/imports.ts'
import { newPlace, type Place } from '../../test/links-api.ts'
import { eventually } from '../../test/processes.ts'
import { runs } from '../../test/runs.ts'
import { dayText, toUtcDay } from '../accounts/calendar.ts'

const app = await startApp()
const today = toUtcDay(Date.now())
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

const click = fc.record({
  link: fc.nat({ max: 3 }),
  daysAgo: fc.constantFrom(1, 2, 29, 40),
  hour: fc.constantFrom('07', '23'),
  country: fc.constantFrom('AT', 'FR', ''),
  agent: fc.constantFrom(firefox, 'Googlebot/2.1'),
})
const clicks = fc.array(click, { minLength: 1, maxLength: 12 })

/** Returns a dump of YOURLS with four links and these clicks. */
function dumpOf(prefix: string, all: readonly (typeof click extends fc.Arbitrary<infer C> ? C : never)[]): string {
  const links = [0, 1, 2, 3].map((n) => `('${prefix}${n}','https://tea.example/${n}','','2019-05-06 18:30:00','',0)`)
  const visits = all.map(({ link, daysAgo, hour, country, agent }) => {
    const time = `${dayText(today - daysAgo)} ${hour}:12:00`
    return `('${time}','${prefix}${link}','https://news.example/','${agent}','198.51.100.7','${country}')`
  })
  return `INSERT INTO yourls_url (keyword,url,title,timestamp,ip,clicks) VALUES ${links};
INSERT INTO yourls_log (click_time,shorturl,referrer,user_agent,ip_address,country_code) VALUES ${visits};`
}

/** Returns all totals of an account, of which ids of links are left out. */
async function totalsOf({ send }: Place, groups: readonly string[]): Promise<Json> {
  const range = `&from=${dayText(today - 50)}&to=${dayText(today)}&per_page=100`
  const names = ['countries', 'referrers', 'browsers', 'classes', 'links']
  const stats = ['', ...groups].flatMap((of) => [
    `name=clicks&interval=month${range}${of}`,
    ...names.map((name) => `name=${name}${range}${of}`),
  ])
  const found = stats.map(async (query) => {
    const { status, body } = await send('GET', `/stats?${query}`)
    return [query, status, body.data, body.meta?.total]
  })
  const domains = (await send('GET', '/domains')).body.data
  return [...(await Promise.all(found)), domains.map((domain: Json) => domain.clicks_30d)]
}

test('an undo of an import takes its clicks out of all totals, and its undo returns them', async () => {
  await fc.assert(
    fc.asyncProperty(clicks, clicks, async (before, own) => {
      const place = await newPlace(app)
      const { id: space } = await place.stored('/spaces', { name: 'S' })
      const options = { domain_map: `*=${place.domain.name}`, time_zone: 'UTC', space_id: String(space), tag: 'T' }
      await applyImport(place, await planFile(place, dumpOf('x', before), options, 'application/sql'))
      const [tag] = (await place.send('GET', '/tags')).body.data
      const groups = [`&domain_id=${place.domain.id}`, `&space_id=${space}`, `&tag_id=${tag.id}`]
      const totals = () => totalsOf(place, groups)
      const without = await totals()
      const planned = await planFile(place, dumpOf('y', own), options, 'application/sql')
      await applyImport(place, planned)
      const whole = await totals()
      assert.notDeepEqual(whole, without)
      // The background may not have moved the clicks before they return.
      await undoImport(place, planned)
      await undoBatch(place, 'link.deleted')
      await eventually(async () => JSON.stringify(await totals()) === JSON.stringify(whole))
      await undoBatch(place, 'link.restored')
      await undoBatch(place, 'link.deleted')
      for (let n = 0; n < 2; n++) {
        await undoBatch(place, 'link.restored')
        await eventually(async () => JSON.stringify(await totals()) === JSON.stringify(without))
        assert.deepEqual(await totals(), without)
        await undoBatch(place, 'link.deleted')
        await eventually(async () => JSON.stringify(await totals()) === JSON.stringify(whole))
      }
    }),
    { numRuns: runs(60, 4) },
  )
})

test('an undo completes although links were deleted, and takes their clicks out of all totals, too', async () => {
  const place = await newPlace(app)
  const totals = () => totalsOf(place, [`&domain_id=${place.domain.id}`])
  const without = await totals()
  const options = { domain_map: `*=${place.domain.name}`, time_zone: 'UTC' }
  const visit = { daysAgo: 1, hour: '07', country: 'AT', agent: firefox } as const
  const dump = dumpOf('z', [
    { ...visit, link: 0 },
    { ...visit, link: 1 },
  ])
  const planned = await planFile(place, dump, options, 'application/sql')
  await applyImport(place, planned)
  const whole = await totals()
  const link = (await place.send('GET', '/links?sort=asc')).body.data[0].id
  await place.send('DELETE', `/links/${link}`)
  assert.equal((await undoImport(place, planned)).state, 'undone')
  await eventually(async () => JSON.stringify(await totals()) === JSON.stringify(without))
  await undoBatch(place, 'link.deleted')
  const [{ batch_id }] = (await place.send('GET', `/events?record=link&record_id=${link}`)).body.data
  await place.send('POST', '/events/undo', { json: { batch_id } })
  await eventually(async () => JSON.stringify(await totals()) === JSON.stringify(whole))
})

/** Undoes the batch of the newest event of this type. */
async function undoBatch({ send }: Place, type: string): Promise<void> {
  const [{ batch_id }] = (await send('GET', `/events?type=${type}&per_page=10`)).body.data
  const { status, body } = await send('POST', '/events/undo', { json: { batch_id } })
  assert.ok(status === 200 && body.data.every((row: Json) => row.status < 300), JSON.stringify(body))
}
