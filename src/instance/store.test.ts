import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import type { Db } from '../storage/port.ts'
import { isRead } from '../storage/schema.ts'
import { findAddresses, storeAddresses } from './store.ts'

const addresses = { short_url: 'https://{domain}', base_url: 'https://links.acme.com' }

test('returns null before a server has stored its addresses', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  assert.deepEqual({ ...(await findAddresses(storage)) }, { short_url: null, base_url: null })
  await storeAddresses(storage, addresses)
  assert.deepEqual({ ...(await findAddresses(storage)) }, addresses)
})

test('writes only changed addresses', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  let writes = 0
  const counting: Db = {
    execute: (query) => {
      if (!isRead(query.toOperationNode())) writes += 1
      return storage.execute(query)
    },
    write: storage.write.bind(storage),
  }
  for (const each of [addresses, addresses, { ...addresses, short_url: 'http://{domain}' }]) {
    await storeAddresses(counting, each)
    assert.deepEqual({ ...(await findAddresses(storage)) }, each)
  }
  await storeAddresses(counting, { ...addresses, short_url: 'http://{domain}', base_url: 'http://localhost:3000' })
  assert.equal(writes, 3)
})
