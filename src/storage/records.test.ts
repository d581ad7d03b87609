import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import type { Space } from '../spaces/schema.ts'
import { insertSpace } from '../spaces/store.ts'
import { Records } from './records.ts'

test('lists the same records with different columns', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  await insertSpace(storage, systemActor(account), { name: 'Red', color: 3 })
  const page = { search: [], searchIn: [], filter: {}, sortBy: 'id', direction: 'asc', limit: 9, offset: 0 } as const
  for (const column of ['name', 'color'] as const) {
    const records = new Records<Space>('spaces', ['id', column])
    const { rows } = await records.list(storage, account, { ...page, after: null })
    assert.equal(rows[0]?.[column], { name: 'Red', color: 3 }[column])
  }
})
