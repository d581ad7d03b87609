/** Clicks of addresses after a SIGKILL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from './client.ts'
import { eventually } from './processes.ts'
import { databaseOn, startVisited, storedClicks } from './visited-server.ts'
import { person } from './visitors.ts'

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`${engine}: after a SIGKILL, the clicks of addresses, days and links agree`, async (t) => {
    const variables = await databaseOn(t, engine)
    const server = await startVisited(t, variables)
    await server.stored('/domains', { name: 'go.acme.com' })
    const { id, alias } = await server.stored('/links', { url: 'https://acme.com' })
    const path = `/links/${id}/addresses`
    const [one, two] = [await server.stored(path, {}), await server.stored(path, { exact: true })]
    const urls = [alias, one.alias, two.alias].map((name) => `http://go.acme.com/${name}`)
    let isKilled = false
    const visitor = async () => {
      for (let at = 0; !isKilled; at += 1) {
        const visit = server.visit(urls[at % 3] as string, { headers: { 'user-agent': person } })
        await visit.catch((error) => assert.ok(isKilled, String(error)))
      }
    }
    const visitors = [visitor(), visitor(), visitor()]
    await eventually(async () => (await storedClicks(variables, id)) > 100)
    isKilled = true
    server.child.kill('SIGKILL')
    await Promise.all([...visitors, server.ended])
    const again = await startVisited(t, variables, server.key)
    const total = (await again.ask('GET', `/links/${id}`)).body.data.clicks
    const further = (await again.ask('GET', `${path}?sort=asc`)).body.data
    const { data, meta } = (await again.ask('GET', `/stats?name=addresses&link_id=${id}`)).body
    const clicksAt = (name: string) => data.find(({ value }: Json) => value.endsWith(`/${name}`)).clicks
    assert.equal(meta.clicks, total)
    assert.deepEqual(
      further.map(({ alias: name }: Json) => clicksAt(name)),
      further.map(({ clicks }: Json) => clicks),
    )
    assert.ok(clicksAt(alias) > 20 && further.every(({ clicks }: Json) => clicks > 20), JSON.stringify(data))
  })
}
