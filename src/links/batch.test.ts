import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { newPlace } from '../../test/links-api.ts'
import { commandActor } from '../access/actor.ts'
import type { Db } from '../storage/port.ts'
import { type BatchChange, runBatch } from './batch.ts'
import type { RowResult } from './batch-results.ts'
import { maxRows } from './bulk-schema.ts'
import { type Link, type NewLink, storeLink } from './schema.ts'

const app = await startApp({ engine: 'sqlite' })
const shortUrl = (domain: string, alias: string) => `https://${domain}/${alias}`
const many = <T>(of: (n: number) => T) => Array.from({ length: maxRows }, (_, n) => of(n))

test('applies 1,000 rows with few statements, and never waits for the event loop while it holds the lock', async () => {
  const { account } = await newPlace(app)
  const run = async (change: BatchChange) => {
    let statements = 0
    const counting: Db = {
      execute: (query) => {
        statements += 1
        return app.storage.execute(query)
      },
      write: (work) =>
        app.storage.write(async (tx) => {
          let hasWaited = false
          const timer = setImmediate(() => {
            hasWaited = true
          })
          const execute: Db['execute'] = (query) => {
            statements += 1
            return tx.execute(query)
          }
          const result = await work({ ...tx, execute })
          clearImmediate(timer)
          assert.equal(hasWaited, false)
          return result
        }),
    }
    const request = { actor: commandActor(account, 'Test'), change, isAtomic: true, claim: null, hasResults: true }
    const { applied, body } = await runBatch(counting, request, { shortUrl, urlSchemes: [] })
    assert.equal(applied.length, maxRows)
    // A few more if generated aliases look like numbers.
    assert.ok(statements <= 65, `${change.kind}: ${statements} statements`)
    return JSON.parse(new TextDecoder().decode(body)).data.map(({ id, data }: RowResult) => data ?? { id })
  }
  const row = (n: number) => storeLink.check({ url: `https://acme.com/${n}`, tags: `all,${n % 10}` }) as NewLink
  const stored: Link[] = await run({ kind: 'store', rows: many(row) })
  const ids = stored.map(({ id }) => id)
  const tags = { add: ['some'], remove: ['all', '1'] }
  const values = { title: 'Summer', clicks_limit: 5 }
  const updated: Link[] = await run({ kind: 'update', ids, values, tags })
  assert.deepEqual(new Set(updated.map((link) => link.tags.join())).size, 10)
  await run({ kind: 'delete', ids })
})
