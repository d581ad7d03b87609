/** Imports of a database that an earlier version has filled: their states, and the events that can be undone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { onPostgres, onSqlite } from '../../test/empty-databases.ts'
import { buildMigrations } from '../storage/migrations/all.ts'
import { openStorage } from '../storage/open.ts'
import { query } from '../storage/schema.ts'
import { ImportActions } from './actions.ts'

for (const open of [onSqlite, onPostgres]) {
  test(`keeps imports of 0014, ends interrupted plans, and finishes deletions: ${open.name}`, async (t) => {
    const database = await open(t)
    const all = buildMigrations(database.location.engine)
    await database.migrate(Object.fromEntries(Object.entries(all).filter(([name]) => name < '0015')))
    await database.query(`insert into accounts (id, name, created_at) values (1, 'Acme', '')`)
    const at = '2026-11-28T12:00:00.000Z'
    for (const [id, account, state, applied] of [
      [1, 1, 'planning', 'null'],
      [2, 1, 'applying', 'null'],
      [3, 1, 'undoing', `'${at}'`],
      [4, 1, 'undone', `'${at}'`],
      [5, 0, 'planned', 'null'],
    ] as const) {
      await database.query(`insert into imports (id, account_id, source, state, is_case_sensitive, options, columns, summary,
        batch_id, applied_at, created_at, updated_at) values (${id}, ${account}, 'csv', '${state}', 0, '{}', '[]',
        '{"exact":0,"case_insensitive":0}', 'b${id}', ${applied}, '${at}', '${at}')`)
      await database.query(`insert into import_rows (import_id, id, content) values (${id}, 1, '{}')`)
      for (const [record, undone] of [
        ['link', 'null'],
        ['tag', 'null'],
        ['link', '1'],
        ['import', 'null'],
      ] as const) {
        await database.query(`insert into events (account_id, batch_id, record, action, record_id, record_name, actor_kind,
          actor_name, changes, undone_by, created_at) values (1, 'b${id}', '${record}', 'created', 1, '', 'system', '', '{}',
          ${undone}, '${at}')`)
      }
    }
    await database.migrate(all)
    const storage = await openStorage(database.location)
    t.after(() => storage.close())
    const { jobs, reversals } = actionsOn(storage)
    const rules = { shortUrl: () => '', urlSchemes: [] }
    const parts = { rules, reversals, jobs, run: async () => 0, prove: async () => undefined, patienceMs: null }
    const imports = new ImportActions(storage, parts)
    await jobs.finish()
    const stored = await Promise.all([1, 2, 3, 4, 5].map((id) => imports.findStored(1, id)))
    assert.deepEqual(
      stored.map((each) => each && [each.state, each.openEvents, each.error?.code]),
      [
        ['failed', 0, 'import_interrupted'],
        ['applying', 2, undefined],
        ['applied', 2, undefined],
        ['undone', 0, undefined],
        undefined,
      ],
    )
    assert.deepEqual(await storage.execute(query.selectFrom('imports').select('id').where('id', '=', 5)), [])
  })
}
