import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withMethods } from '../../test/failing-storage.ts'
import { newDomain, twoNodes } from '../../test/links.ts'
import type { Storage } from '../storage/port.ts'
import { DomainTable } from './domain-table.ts'
import type { ServedDomain } from './store.ts'

test('serves domains that change while all are loaded', async (t) => {
  const { storage, account } = await twoNodes((work) => t.after(work))
  let onRead = () => {}
  const execute: Storage['execute'] = async (query) => {
    const rows = await storage.execute(query)
    onRead()
    return rows
  }
  const table = new DomainTable(withMethods(storage, { execute }))
  await table.load()
  const known = table.named('go.acme.com') as ServedDomain
  const changed = { ...known, homepage_url: 'https://b.example/', updated_at: '2100' }
  const added = { ...known, id: 99, name: 'b.example' }
  onRead = () => {
    table.set(changed)
    table.set(added)
  }
  await newDomain(storage, account, 'c.example')
  await table.load()
  assert.deepEqual([table.named(known.name), table.named(added.name), table.size], [changed, added, 3])
})
