/** Health checks need no key, so they may not cost the server a new connection each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { Wire } from '../../../test/wire.ts'
import { openPostgres } from './open.ts'

test('health checks open one connection per second while the database is read-only, and find the new primary', async (t) => {
  const { url, drop } = await newDatabase()
  const wire = new Wire(url)
  const storage = await openPostgres(await wire.url(), 3)
  t.after(async () => {
    await storage.close()
    wire.close()
    await drop()
  })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const flood = async (condition: string) => {
    const before = wire.connections
    for (let n = 0; n < 20; n++) {
      const conditions = await Promise.all(Array.from({ length: 100 }, () => storage.condition()))
      assert.deepEqual([...new Set(conditions)], [condition])
    }
    return wire.connections - before
  }
  const database = new URL(url).pathname.slice(1)
  await execute(url, `alter database ${database} set default_transaction_read_only = on`)
  assert.equal(await flood('read_only'), 1)
  now += 999
  assert.equal(await flood('read_only'), 0)
  now += 1
  assert.equal(await flood('read_only'), 1)
  await execute(url, `begin read write; alter database ${database} reset default_transaction_read_only; commit`)
  assert.equal(await flood('read_only'), 0)
  now += 1_000
  assert.equal(await flood('ok'), 1)
  now += 1_000
  assert.equal(await flood('ok'), 0)
})
