/** Days and hours of statistics are in the account's time zone. Runs on both engines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import { signedInMember } from '../../../test/dashboard.ts'
import { newPlace } from '../../../test/links-api.ts'
import { eventually } from '../../../test/processes.ts'
import { person } from '../../../test/visitors.ts'

const app = await startApp()

interface Bucket {
  readonly start_at: string
  readonly clicks: number
  readonly unique_clicks: number
}

test('counts clicks in the days and hours of the zone that applied, which agree with breakdowns', async (t) => {
  const setTime = (text: string) => t.mock.timers.setTime(Date.parse(text))
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-10-24T21:20Z') })
  const place = await newPlace(app)
  const { short_url, id } = await place.link()
  const browser = await signedInMember(app, { account: place.account })
  const setZone = async (time_zone: string) => {
    const { status, headers } = await browser.post('/app/account', { name: 'Acme', time_zone })
    assert.deepEqual([status, headers.location], [303, '/app/account'])
  }
  const stats = async (query: string) => {
    const { status, body, text } = await place.send('GET', `/stats?${query}`)
    assert.equal(status, 200, text)
    return body
  }
  let visits = 0
  const visit = async (at: string, headers: Record<string, string> = {}) => {
    setTime(at)
    assert.equal((await app.visit(short_url, { headers: { 'user-agent': person, ...headers } })).status, 302)
    visits += 1
    await eventually(async () => (await place.send('GET', `/links/${id}`)).body.data.clicks === visits)
  }
  const filled = ({ data }: { data: Bucket[] }) =>
    data
      .filter(({ clicks }) => clicks > 0)
      .map(({ start_at, clicks, unique_clicks }) => `${start_at.slice(0, 16)} ${clicks} ${unique_clicks}`)

  await visit('2026-10-24T21:30:00Z')
  await setZone('Europe/Berlin')
  for (const at of [
    '2026-10-24T21:59:59.999Z',
    '2026-10-24T22:00:00Z',
    // Twice 02:30, because the clocks are set back.
    '2026-10-25T00:30:00Z',
    '2026-10-25T01:30:00Z',
    '2026-10-25T22:59:59.999Z',
    '2026-10-25T23:00:00Z',
  ]) {
    await visit(at)
  }
  const range = 'from=2026-10-24&to=2026-10-26'
  const inBerlin = async () => {
    const days = await stats(`name=clicks&${range}`)
    assert.deepEqual(
      days.data.map(({ start_at }: Bucket) => start_at),
      ['2026-10-24T00:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    )
    // The visitor is new after the change of the zone, because days then begin at another time.
    assert.deepEqual(filled(days), ['2026-10-24T00:00 2 2', '2026-10-24T22:00 4 1', '2026-10-25T23:00 1 1'])
    const hours = await stats('name=clicks&from=2026-10-25&to=2026-10-25&interval=hour')
    assert.equal(hours.data.length, 25)
    assert.deepEqual(filled(hours), [
      '2026-10-24T22:00 1 1',
      '2026-10-25T00:00 1 0',
      '2026-10-25T01:00 1 0',
      '2026-10-25T22:00 1 0',
    ])
  }
  await inBerlin()
  const { data, meta } = await stats('name=clicks&interval=month&from=2026-10-01')
  assert.deepEqual([meta.to, meta.time_zone], ['2026-10-26', 'Europe/Berlin'])
  assert.deepEqual(filled({ data }), ['2026-10-01T00:00 7 4'])

  setTime('2026-10-26T12:07:00Z')
  await setZone('Asia/Kathmandu')
  await inBerlin().catch((error) => assert.fail(error))
  await visit('2026-10-26T12:08:00Z')
  await visit('2026-10-26T12:40:00Z', { 'sec-gpc': '1' })
  await visit('2026-10-26T18:15:00Z')
  const hours = await stats('name=clicks&from=2026-10-26&to=2026-10-27&interval=hour')
  assert.equal(hours.meta.time_zone, 'Asia/Kathmandu')
  assert.deepEqual(filled(hours), [
    '2026-10-25T23:00 1 1',
    '2026-10-26T11:15 1 1',
    '2026-10-26T12:15 1 0',
    '2026-10-26T18:15 1 1',
  ])
  for (const query of ['from=2026-10-24&to=2026-10-25', 'from=2026-10-26&to=2026-10-26', 'from=2026-10-27']) {
    const { clicks } = (await stats(`name=clicks&${query}`)).meta
    for (const interval of ['hour', 'month']) {
      assert.equal((await stats(`name=clicks&interval=${interval}&${query}`)).meta.clicks, clicks)
    }
    for (const name of ['browsers', 'links', 'classes']) {
      const ranking = await stats(`name=${name}&${query}`)
      assert.deepEqual([ranking.meta.clicks, ranking.meta.time_zone], [clicks, 'Asia/Kathmandu'], `${name} ${query}`)
    }
  }
})
