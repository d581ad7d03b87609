/** `GET /stats?name=rules`: a link's clicks by the rule that decided the destination. */
import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import type { Json } from '../../../test/client.ts'
import { addClicks, dayOf, dayWith, manyPeople } from '../../../test/days.ts'
import { newPlace } from '../../../test/links-api.ts'
import { maxValues } from '../day.ts'

mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-22T15:00:00.000Z') })
after(() => mock.timers.reset())

const app = await startApp()
const pairs = ({ data }: Json) => data.map(({ value, clicks }: Json) => `${JSON.stringify(value)} ${clicks}`).join()
const own = await newPlace(app)
const { id } = await own.link()
const at = dayOf('2026-11-22')
const rules = async (query = '') => pairs((await own.send('GET', `/stats?name=rules&link_id=${id}${query}`)).body)

test('200 with null for the link’s URL, even on days before rules existed', async () => {
  assert.equal(await rules(), '')
  await addClicks(app.storage, id, at - 1, manyPeople(4, 'countries', 'DE'))
  assert.equal(await rules(), 'null 4')
  for (const [rule, people] of [
    ['Test 2', 3],
    ['…', 2],
    ['Größe', 1],
    [null, 5],
  ] as const) {
    await addClicks(app.storage, id, at, manyPeople(people, 'rules', rule))
  }
  await addClicks(app.storage, id, at, dayWith([{ hour: 1, kind: 'bots' }]))
  assert.equal(await rules(), 'null 9,"Test 2" 3,"…" 2,"Größe" 1')
  assert.equal(await rules('&sort_by=value&sort=asc&from=2026-11-22'), '"Größe" 1,"Test 2" 3,"…" 2,null 5')
})

test('200 with values that don’t fit a day as other, which add up to the link’s clicks', async () => {
  const link = (await own.link()).id
  for (let n = 0; n <= maxValues; n++) await addClicks(app.storage, link, at, manyPeople(2, 'rules', `Rule ${n}`))
  await addClicks(app.storage, link, at, manyPeople(1, 'rules', null))
  const { data, meta } = (await own.send('GET', `/stats?name=rules&link_id=${link}`)).body
  assert.equal(meta.clicks, 2 * (maxValues + 1) + 1)
  assert.equal(meta.total, maxValues + 2)
  const others = await own.send('GET', `/stats?name=rules&link_id=${link}&per_page=100&page=3`)
  assert.deepEqual([others.body.data.length, others.body.data.at(-1)], [2, { value: null, clicks: 1 }])
  assert.equal(data[0].clicks, 2)
})

test('200 with the same clicks after a deletion of the link and its undo, and none after a deletion of its clicks', async () => {
  const link = (await own.link()).id
  const show = async () => pairs((await own.send('GET', `/stats?name=rules&link_id=${link}`)).body)
  await addClicks(app.storage, link, at, manyPeople(2, 'rules', 'Germany'))
  await addClicks(app.storage, link, at, manyPeople(1, 'rules', null))
  assert.equal(await show(), '"Germany" 2,null 1')
  assert.equal((await own.send('DELETE', `/links/${link}`)).status, 204)
  const [event] = (await own.send('GET', `/events?type=link.deleted`)).body.data
  assert.equal((await own.send('POST', `/events/${event.id}/undo`)).status, 200)
  assert.equal(await show(), '"Germany" 2,null 1')
  assert.equal((await own.send('DELETE', `/links/${link}/clicks`)).status, 204)
  assert.equal(await show(), '')
})
