/** The wall clock jumps back by an hour while people visit links. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from './app.ts'
import { clicksOf, deleteLink, newLink, setUrl } from './links.ts'
import { eventually } from './processes.ts'

const host = 'http://go.acme.com'
const hour = 3_600_000

test('shows edits of other nodes, finds new aliases and counts clicks after the clock jumps back', async (t) => {
  const app = await startApp()
  const domain = (await app.send('POST', '/api/v1/domains', { form: { name: 'go.acme.com' } })).body.data.id
  await app.directory.refresh()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const link = (alias: string) => newLink(app.storage, { account: app.account, domain }, alias)
  const visit = async (alias: string) => (await app.visit(`${host}/${alias}`)).status
  const [sale, gone] = [await link('sale'), await link('gone')]
  assert.deepEqual([await visit('sale'), await visit('gone'), await visit('late')], [302, 302, 404])
  const clicks = async () => (await app.storage.execute(clicksOf({ id: sale })))[0]
  await eventually(async () => (await clicks())?.clicks === 1)
  const before = await clicks()

  t.mock.timers.setTime(Date.now() - hour)
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
