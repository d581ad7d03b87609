/** What of a visit's headers reaches the statistics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { newPlace } from '../../test/links-api.ts'
import { eventually } from '../../test/processes.ts'
import { person } from '../../test/visitors.ts'

const app = await startApp({ countryHeader: 'cf-ipcountry' })

test('uses a limited length of each header, and the configured country header', async () => {
  const place = await newPlace(app)
  const { id, short_url } = await place.link()
  const headers = {
    'user-agent': `${person} ${'x'.repeat(9_000)}`,
    referer: `https://news.example/${'x'.repeat(9_000)}`,
    'accept-language': `de${',en;q=0.5'.repeat(900)}`,
    'cf-ipcountry': 'FR',
  }
  assert.equal((await app.visit(short_url, { headers })).status, 302)
  assert.equal((await app.visit(short_url, { headers: { ...headers, 'sec-gpc': '1, 1' } })).status, 302)
  const told = async (name: string) => (await place.send('GET', `/stats?name=${name}&link_id=${id}`)).body.data
  await eventually(async () => (await told('classes'))[0].clicks === 2)
  for (const [name, value] of Object.entries({
    countries: 'FR',
    referrers: 'news.example',
    browsers: 'Firefox',
    languages: 'de',
  })) {
    const rows = (await told(name)).map((row: { value: string | null; clicks: number }) => [row.value, row.clicks])
    assert.deepEqual(
      new Map(rows),
      new Map([
        [value, 1],
        [null, 1],
      ]),
      name,
    )
  }
})
