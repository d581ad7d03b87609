/** The last checks of domains on both engines. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newStorage } from '../../test/engine.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { loggedDomains } from '../domains/reversal.ts'
import { insertDomain } from '../domains/store.ts'
import type { Reachability } from './checks.ts'
import { findChecks, findReachedDomain, findRecordsToSet, storeCheck } from './store.ts'

const now = Date.parse('2026-11-23T12:00:00.000Z')
const here = (...values: string[]): Reachability => ({
  answer: 'here',
  records: values.map((value) => ({ type: 'A', name: 'x', value })),
  files: { 'a.json': 'served' },
})
const missing: Reachability = { answer: 'no DNS', records: 'no records', files: {} }

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`stores the last check of each domain of an account: ${engine}`, async (t) => {
    const storage = await newStorage((work) => t.after(work), engine)
    const accounts = [await createAccount(storage, 'A'), await createAccount(storage, 'B')].map(({ id }) => id)
    const [own = 0, other = 0] = accounts
    const added = async (account: number, name: string) => {
      const urls = { homepage_url: null, not_found_url: null }
      return (await insertDomain(storage, systemActor(account), { name, nameUnicode: name }, urls)).record.id
    }
    const [a, b, c] = [await added(own, 'a.example'), await added(own, 'b.example'), await added(other, 'c.example')]
    const found = async (account: number) => Object.fromEntries(await findChecks(storage, account, [a, b, c]))
    assert.deepEqual([await found(own), await findReachedDomain(storage, own)], [{}, undefined])

    await storeCheck(storage, own, a, missing, now)
    await storeCheck(storage, own, a, here('203.0.113.7', '203.0.113.8'), now + 1)
    await storeCheck(storage, own, b, here(), now + 2)
    await storeCheck(storage, own, c, here('198.51.100.1'), now + 3)
    await storeCheck(storage, own, 999, missing, now)
    assert.deepEqual(await found(own), {
      [a]: {
        answer: 'here',
        addresses: ['203.0.113.7', '203.0.113.8'],
        files: { 'a.json': 'served' },
        checked_at: '2026-11-23T12:00:00.001Z',
      },
      [b]: { answer: 'here', addresses: [], files: { 'a.json': 'served' }, checked_at: '2026-11-23T12:00:00.002Z' },
    })
    assert.deepEqual(await found(other), {})
    const reached = { name_unicode: 'a.example', addresses: ['203.0.113.7', '203.0.113.8'] }
    assert.deepEqual(await findReachedDomain(storage, own), reached)
    assert.equal(await findReachedDomain(storage, other), undefined)

    const named = { id: b, name: 'go.acme.com' }
    const toSet = async (publicHost: string | null, addresses: readonly string[] = []) => {
      const checks = { lookUpAddresses: async () => addresses, publicAddresses: () => ['198.51.100.9'] }
      const records = await findRecordsToSet(storage, own, named, { publicHost, checks })
      return records.map(({ type, value }) => `${type} ${value}`)
    }
    assert.deepEqual(await toSet('links.acme.com'), ['CNAME links.acme.com'])
    assert.deepEqual(await toSet('go.acme.com', ['203.0.113.1']), ['A 203.0.113.1'])
    assert.deepEqual(await toSet(null), ['A 203.0.113.7', 'A 203.0.113.8'])

    const how = { precondition: null, isPermanent: false }
    assert.ok(await loggedDomains.beginRemoval(storage, systemActor(own), a, how))
    assert.equal(await findReachedDomain(storage, own), undefined)
    await actionsOn(storage).jobs.run({ record: 'domain', record_id: a })
    assert.deepEqual(Object.keys(await found(own)), [String(b)])
  })
}
