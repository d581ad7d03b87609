import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { newStorage } from '../../../test/engine.ts'
import type { Db } from '../../storage/port.ts'
import { compiledForSqlite } from '../../storage/sqlite/group-commit.ts'
import { entriesWith } from './store.ts'

test('finds addresses of a file by an index of aliases, without reading the others', async (t) => {
  const { location } = await newStorage((work) => t.after(work), 'sqlite')
  assert(location.engine === 'sqlite')
  using database = new DatabaseSync(location.path)
  const plans: string[] = []
  const explaining: Db = {
    execute: async (asked) => {
      const plan = database.prepare(`explain query plan ${compiledForSqlite(asked).sql}`).all()
      plans.push(
        ...plan.map(({ detail }) => String(detail)).filter((detail) => /^SEARCH import_addresses/.test(detail)),
      )
      return []
    },
    write: () => assert.fail(),
  }
  await entriesWith(explaining, 1, ['sale', 'offer'])
  assert.equal(plans.length, 2)
  for (const plan of plans) assert.match(plan, /import_addresses_by_alias \(import_id=\? AND folded=\?\)$/)
})
