/** The decision column of a database that an earlier version has filled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onPostgres, onSqlite } from '../../test/empty-databases.ts'
import { buildMigrations } from '../storage/migrations/all.ts'
import { openStorage } from '../storage/open.ts'
import { listRows, readRows } from './staging/store.ts'

for (const open of [onSqlite, onPostgres]) {
  test(`makes each decision about a row of an import one column: ${open.name}`, async (t) => {
    const database = await open(t)
    const all = buildMigrations(database.location.engine)
    await database.migrate(Object.fromEntries(Object.entries(all).filter(([name]) => name < '0015')))
    await database.query(`insert into accounts (id, name, created_at) values (1, 'Acme', '')`)
    await database.query(`insert into imports (id, account_id, source, state, is_case_sensitive, options, columns, summary,
      batch_id, created_at, updated_at) values (1, 1, 'csv', 'planned', 0, '{}', '[]', '{}', 'b', '', '')`)
    const warning = { code: 'html_entity', field: 'url', message: 'Write & in place of "&amp;".' }
    const content = '{"fields":{},"losses":[]}'
    for (const values of [
      `1, 'update', null, null, 7, '${JSON.stringify({ title: ['a \\ "b"', null] })}', 'title,notes', '${JSON.stringify([warning])}'`,
      `2, 'refuse', 'required', 'It says "a\\b".', null, null, '', null`,
      `3, null, null, null, null, null, '', null`,
    ]) {
      await database.query(`insert into import_rows (import_id, content, id, outcome, code, message, link_id, changes, losses,
        warnings) values (1, '${content}', ${values})`)
    }
    await database.migrate(all)
    const storage = await openStorage(database.location)
    t.after(() => storage.close())
    const none = { code: null, message: null, linkId: null, changes: null, losses: [], warnings: [] }
    assert.deepEqual(
      (await readRows(storage, 1, { after: 0, limit: 10 })).map(({ decision }) => decision),
      [
        {
          ...{ ...none, outcome: 'update', linkId: 7, changes: { title: ['a \\ "b"', null] } },
          ...{ losses: ['title', 'notes'], warnings: [warning] },
        },
        { ...none, outcome: 'refuse', code: 'required', message: 'It says "a\\b".' },
        null,
      ],
    )
    const filter = {
      sort_by: 'id',
      sort: 'asc',
      page: 1,
      per_page: 10,
      after: null,
      outcome: null,
      proof: null,
    } as const
    for (const [warning, total] of [
      ['html_entity', 1],
      ['signed_url', 0],
      ['any', 1],
    ] as const) {
      assert.equal((await listRows(storage, 1, 1, { ...filter, warning })).total, total)
    }
  })
}
