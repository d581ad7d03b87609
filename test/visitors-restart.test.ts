/** Links and an interrupted removal after a SIGKILL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStorage } from '../src/storage/open.ts'
import type { StorageLocation } from '../src/storage/port.ts'
import { newLocation } from './engine.ts'
import { fillLinks } from './links.ts'
import { linksOn, outOfAccount } from './links-api.ts'
import { eventually } from './processes.ts'
import { startVisited } from './visited-server.ts'

const many = 6_000
/** PostgreSQL ends a statement that takes long. */
const atOnce = 2_000

function variablesOf(location: StorageLocation) {
  return { DATABASE_URL: location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`serves links unchanged and finishes an interrupted removal after a SIGKILL, on ${engine}`, async (t) => {
    const location = await newLocation((work) => t.after(work), engine)
    const first = await startVisited(t, variablesOf(location))
    const storage = await openStorage(location)
    t.after(() => storage.close())
    const doomed = (await first.stored('/domains', { name: 'doomed.acme.com' })).id
    const domain_id = (await first.stored('/domains', { name: 'go.acme.com' })).id
    const sale = { domain_id, alias: 'Sale', url: 'https://acme.com/sale' }
    const { id } = await first.stored('/links', { ...sale, redirect_status: 307 })
    await first.stored('/links', { domain_id, alias: 'one', url: sale.url, clicks_limit: 1 })
    assert.equal((await first.visit('http://go.acme.com/one')).status, 302)
    for (let n = 1; n <= many; n += atOnce) {
      await storage.execute(fillLinks({ account: 1, domain: doomed }, n, atOnce))
    }
    const count = async () => (await storage.execute(linksOn({ id: doomed })))[0]?.count
    assert.equal(await count(), many)
    assert.equal((await first.visit('http://doomed.acme.com/l1')).status, 302)

    const removed = first.ask('DELETE', `/domains/${doomed}?links=delete`).catch(() => null)
    await eventually(async () => Number(await count()) < many - 100)
    assert.equal((await first.visit('http://doomed.acme.com/l1')).status, 404)
    await first.end('SIGKILL')
    await removed
    const left = Number(await count())
    assert.ok(left > 0, 'the removal was not interrupted')

    const second = await startVisited(t, variablesOf(location), first.key)
    const { status, headers } = await second.visit('http://go.acme.com/sale')
    assert.deepEqual([status, headers.location], [307, sale.url])
    assert.equal((await second.visit('http://go.acme.com/one')).status, 410)
    assert.equal((await second.visit(`http://doomed.acme.com/l${many}`)).status, 404)
    await eventually(async () => (await storage.execute(outOfAccount.domains())).length === 0, 40_000)
    assert.equal(await count(), 0)
    assert.equal((await second.ask('GET', '/links')).body.meta.total, 2)
    assert.equal((await second.stored('/domains', { name: 'doomed.acme.com' })).id > doomed, true)
    assert.equal((await second.ask('GET', `/links/${id}`)).body.data.alias, 'Sale')
    assert.equal((await second.end('SIGTERM')).code, 0)
  })
}
