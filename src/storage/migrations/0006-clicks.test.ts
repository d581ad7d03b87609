import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Kysely } from 'kysely'
import { type Later, newLocation } from '../../../test/engine.ts'
import { firstPage } from '../../../test/first-page.ts'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { linkOf } from '../../links/shown.ts'
import { listLinks } from '../../links/store.ts'
import type { StorageLocation } from '../location.ts'
import { migrate } from '../migrate.ts'
import { openStorage } from '../open.ts'
import { atDatabase } from '../postgres/open.ts'
import { migrationDialect } from '../sqlite/migration-dialect.ts'
import { statement } from '../statement.ts'
import { migrationsOf } from './all.ts'

/** The schema before the totals of clicks left the links. */
const before = (engine: StorageLocation['engine']) =>
  Object.fromEntries(Object.entries(migrationsOf(engine)).filter(([name]) => name < '0006'))

const at = `'2026-11-20T12:00:00.000Z'`
const link = (alias: string, space: string, clicks: number, last: string) => `
  insert into links (account_id, domain_id, space_id, alias, alias_folded, url, disabled, forward_query, redirect_status,
    status, clicks, last_clicked_at, created_at, updated_at)
    values (1, 1, ${space}, '${alias}', '${alias}', 'https://acme.com', 0, 0, 302, 'active', ${clicks}, ${last}, ${at}, ${at});`
const records = `
  insert into accounts (name, created_at) values ('Acme', ${at});
  insert into domains (account_id, name, name_unicode, created_at, updated_at) values (1, 'a.example', 'a.example', ${at}, ${at});
  insert into spaces (account_id, name, name_folded, color, created_at, updated_at) values (1, 'A', 'a', 3, ${at}, ${at});
  ${link('some', '1', 7, `'2026-03-04T05:06:07.890Z'`)}
  ${link('none', 'null', 0, 'null')}
  ${link('many', 'null', 5_000_000_000, `'2026-11-20T23:59:59.999Z'`)}`

/** A database as the version before left it. */
async function earlier(later: Later, engine: StorageLocation['engine']): Promise<StorageLocation> {
  if (engine === 'sqlite') {
    const location = await newLocation(later, engine)
    assert.ok(location.engine === 'sqlite')
    using database = new DatabaseSync(location.path)
    await migrate(new Kysely<never>({ dialect: migrationDialect(database) }), before(engine))
    database.exec(records)
    return location
  }
  const { drop, ...location } = await newDatabase(false)
  later(drop)
  await atDatabase(location.url, (db, schema) => migrate(db, before(engine), schema))
  await execute(location.url, records)
  return location
}

interface Tables {
  link_clicks: { link_id: number; account_id: number; domain_id: number; space_id: number | null }
}

const owners = statement((db: Kysely<Tables>) =>
  db.selectFrom('link_clicks').select(['link_id', 'account_id', 'domain_id', 'space_id']).orderBy('link_id'),
)

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`links keep their clicks when these get a table of their own, on ${engine}`, async (t) => {
    const storage = await openStorage(await earlier((work) => t.after(work), engine))
    t.after(() => storage.close())
    const { rows } = await listLinks(storage, 1, { ...firstPage, sortBy: 'clicks', direction: 'desc' })
    const shown = rows.map((row) => linkOf(row, (name, alias) => `${name}/${alias}`))
    assert.deepEqual(
      shown.map(({ alias, clicks, last_clicked_at }) => [alias, clicks, last_clicked_at]),
      [
        ['many', 5_000_000_000, '2026-11-20T23:59:59.999Z'],
        ['some', 7, '2026-03-04T05:06:07.890Z'],
        ['none', 0, null],
      ],
    )
    const owned = (await storage.all(owners, {})).map(Object.values)
    assert.deepEqual(owned, [
      [1, 1, 1, 1],
      [2, 1, 1, null],
      [3, 1, 1, null],
    ])
  })
}
