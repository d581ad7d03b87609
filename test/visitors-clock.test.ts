/** The wall clock jumps back by an hour while people visit links. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startApp } from './app.ts'
import { clicksOf, deleteLink, newLink, setUrl } from './links.ts'
import { eventually } from './processes.ts'

const host = 'http://go.acme.com'
const hour = 3_600_000
const minute = 60_000

async function serving(t: TestContext) {
  const app = await startApp({ rateLimit: 100 })
  const domain = (await app.send('POST', '/api/v1/domains', { form: { name: 'go.acme.com' } })).body.data.id
  await app.directory.domainsChanged()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const link = (alias: string) => newLink(app.storage, { account: app.account, domain }, alias)
  const visit = async (alias: string) => (await app.visit(`${host}/${alias}`)).status
  return { app, link, visit, move: (ms: number) => t.mock.timers.setTime(Date.now() + ms) }
}

test('applies the period of a link by the wall clock, even if it jumps', async (t) => {
  const { app, move } = await serving(t)
  const [start, end] = [new Date(Date.now() + minute), new Date(Date.now() + 2 * minute)]
  const period = { active_period_start_at: start.toISOString(), active_period_end_at: end.toISOString() }
  const json = { alias: 'sale', url: 'https://acme.com', ...period }
  const { id } = (await app.send('POST', '/api/v1/links', { json })).body.data
  const told = async () => {
    const { status } = (await app.send('GET', `/api/v1/links/${id}`)).body.data
    return [(await app.visit(`${host}/sale`)).status, status]
  }
  const table = [
    [404, 'scheduled'],
    [302, 'active'],
    [410, 'expired'],
  ] as const
  for (const [state, after] of [
    [0, 0],
    [1, minute],
    [2, minute],
    // Back to before the end, to before the start, and ahead again.
    [1, -minute],
    [2, minute],
    [0, -hour],
    [2, hour],
    [0, -hour],
    [1, hour - minute],
  ] as const) {
    move(after)
    assert.deepEqual(await told(), table[state], new Date().toISOString())
  }
})

test('shows edits of other nodes, finds new aliases and counts clicks after the clock jumps back', async (t) => {
  const { app, link, visit, move } = await serving(t)
  const [sale, gone] = [await link('sale'), await link('gone')]
  assert.deepEqual([await visit('sale'), await visit('gone'), await visit('late')], [302, 302, 404])
  const clicks = async () => (await app.storage.execute(clicksOf({ id: sale })))[0]
  await eventually(async () => (await clicks())?.clicks === 1)
  const before = await clicks()

  move(-hour)
  await app.storage.execute(setUrl({ id: sale, url: 'https://acme.com/new' }))
  await app.storage.execute(deleteLink({ id: gone }))
  await link('late')
  const location = async () => (await app.visit(`${host}/sale`)).headers.location
  let visits = 1
  await eventually(async () => {
    visits += 1
    return (await location()) === 'https://acme.com/new'
  }, 2_500)
  await eventually(async () => (await visit('gone')) === 404 && (await visit('late')) === 302, 2_500)
  await eventually(async () => (await clicks())?.clicks === visits)
  // The last click stays the latest that was seen.
  assert.equal((await clicks())?.last_clicked_ms, before?.last_clicked_ms)
})
