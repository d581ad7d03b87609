/** Migrations on both engines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { commandsWith } from '../../test/command-line.ts'
import { type EmptyDatabase, onPostgres, onSqlite } from '../../test/empty-databases.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { StartupFailure } from '../errors.ts'
import { generateKey, hashKey } from '../keys/key.ts'
import { findKeyByHash } from '../keys/store.ts'
import { AddressActions } from '../links/address-actions.ts'
import { findServedLink } from '../redirect/store.ts'
import { findSession, signInByToken } from '../sessions/store.ts'
import { generateToken, hashToken } from '../sessions/token.ts'
import { buildMigrations } from './migrations/all.ts'
import { openStorage } from './open.ts'
import type { Storage } from './port.ts'
import { clickLevels, query } from './schema.ts'

const songs = ['create table songs (name text)']
const adding = (name: string) => [`insert into songs values ('${name}')`]

const isStartupFailure = (message: RegExp) => (error: unknown) =>
  error instanceof StartupFailure && message.test(error.message)

for (const open of [onSqlite, onPostgres]) {
  test(`runs each migration once, in the order of names, and keeps records: ${open.name}`, async (t) => {
    const database = await open(t)
    await database.migrate({ '0001-songs': songs, '0002-next': adding('next') })
    const all = { '0003-last': adding('last'), '0002-next': adding('next'), '0001-songs': songs }
    await database.migrate(all)
    await database.migrate(all)
    const names = (await database.query('select name from songs')).map((row) => ({ ...Object(row) }).name)
    assert.deepEqual(names, ['next', 'last'])
  })

  test(`changes nothing if a migration fails, not even by earlier ones: ${open.name}`, async (t) => {
    const database = await open(t)
    const message = /^Can't migrate the database at 0002-broken: .*nowhere.*\. Nothing was changed\.$/
    await assert.rejects(
      database.migrate({
        '0001-songs': songs,
        '0002-broken': ['create table half (id integer)', 'insert into nowhere values (1)'],
      }),
      isStartupFailure(message),
    )
    assert.deepEqual(await database.tables(), [])
  })

  test(`rejects a database of a newer version, and does not change it: ${open.name}`, async (t) => {
    const database = await open(t)
    await database.migrate({ '0001-songs': songs, '0002-later': [] })
    const before = await database.tables()
    const message = /^The database was created by a newer version of Waymark\. /
    await assert.rejects(database.migrate({ '0001-songs': songs }), isStartupFailure(message))
    assert.deepEqual(await database.tables(), before)
  })

  test(`migrates a new database once if several servers start together: ${open.name}`, async (t) => {
    const { location } = await open(t)
    const storages = await Promise.all([1, 2, 3].map(() => openStorage(location)))
    assert.equal((await createAccount(storages[0] as Storage, 'Acme')).id, 1)
    for (const storage of storages) await storage.close()
  })
}

/** Records as 0001 stored them: [id, alias or name, its folded form]. */
const storedLinks = [
  [1, '❤', '❤'],
  [2, '❤\ufe0f', '❤\ufe0f'],
  [3, "☀\ufe0e's", "☀\ufe0e's"],
  [4, "☀\ufe0f'S", "☀\ufe0f's"],
  [5, '❤-2', '❤-2'],
  [6, 'Plain', 'plain'],
] as const

for (const open of [onSqlite, onPostgres]) {
  test(`folds stored emoji and URLs again, and renames records that are the same by now: ${open.name}`, async (t) => {
    const database = await open(t)
    const { '0001-foundation': first = [], ...others } = buildMigrations(database.location.engine)
    await database.migrate({ '0001-foundation': first })
    await database.query(`insert into accounts (id, name, created_at) values (1, 'Acme', '')`)
    await database.query(`insert into domains (id, account_id, name, name_unicode, created_at, updated_at)
      values (1, 1, 'go.example', 'go.example', '', '')`)
    const quoted = (text: string) => text.replaceAll("'", "''")
    for (const [id, name, folded] of storedLinks) {
      const texts = `'${quoted(name)}', '${quoted(folded)}'`
      await database.query(`insert into links (id, account_id, domain_id, alias, alias_folded, title, url, url_folded,
        disabled, forward_query, redirect_status, status, created_at, updated_at) values (${id}, 1, 1, ${texts},
        '${quoted(name)}', 'https://acme.com/%C3%9C${id}', 'https://acme.com/%c3%9c${id}', 0, 0, 302, 'active', '', '')`)
      await database.query(`insert into tags (id, account_id, name, name_folded, color, created_at, updated_at)
        values (${id}, 1, ${texts}, 1, '', '')`)
      await database.query(`insert into spaces (id, account_id, name, name_folded, color, created_at, updated_at)
        values (${id}, 1, ${texts}, 1, '', '')`)
    }
    await database.migrate({ '0001-foundation': first, ...others })
    const read = async (columns: string, table: string) =>
      (await database.query(`select ${columns} from ${table} order by id`)).map((row) => Object.values(Object(row)))
    const folded = [
      ['❤', '❤', 1],
      ['❤\ufe0f-3', '❤-3', 2],
      ["☀\ufe0e's", "☀'s", 1],
      ["☀\ufe0f'S-2", "☀'s-2", 2],
      ['❤-2', '❤-2', 1],
      ['Plain', 'plain', 1],
    ]
    assert.deepEqual(await read('alias, alias_folded, revision', 'links'), folded)
    assert.deepEqual(await read('name, name_folded, revision', 'tags'), folded)
    const names = (await read('coalesce(title_folded, title)', 'links')).flat()
    assert.deepEqual(names, ['❤', '❤', "☀'s", "☀'s", '❤-2', 'plain'])
    assert.deepEqual((await read('name_folded', 'spaces')).flat(), names)
    assert.equal((await read('url_folded', 'links'))[0]?.[0], 'https://acme.com/ü1\nhttps://acme.com/%c3%9c1')
  })
}

for (const open of [onSqlite, onPostgres]) {
  test(`finishes deletions that could still be undone, and keeps other clicks: ${open.name}`, async (t) => {
    const database = await open(t)
    const all = buildMigrations(database.location.engine)
    await database.migrate(Object.fromEntries(Object.entries(all).filter(([name]) => name < '0003-events')))
    await database.query(`insert into accounts (id, name, created_at) values (1, 'Acme', '')`)
    await database.query(`insert into domains (id, account_id, name, name_unicode, created_at, updated_at)
      values (1, 1, 'go.example', 'go.example', '', ''), (2, 0, 'gone.example/2', 'gone.example', '', '')`)
    for (const [id, domain] of [
      [1, 1],
      [2, 1],
      [3, 2],
    ] as const) {
      await database.query(`insert into links (id, account_id, domain_id, alias, alias_folded, url, disabled,
        forward_query, redirect_status, status, created_at, updated_at) values (${id}, 1, ${domain}, 'l${id}',
        'l${id}', 'https://acme.com/', 0, 0, 302, 'active', '', '')`)
      await database.query(`update link_clicks set clicks = ${id} where link_id = ${id}`)
    }
    await database.query(`insert into deleted_links values (2, 1, 1, '2026-11-22T12:00:00.000Z', 2, '{}')`)
    await database.query('delete from links where id = 2')
    await database.query(`insert into deleted_domains values (2, 1, 'gone.example', 1, 0, '2026-11-22T12:00:00.000Z')`)
    await database.query(`insert into link_edits values (1, 1, 1, '2026-11-22T12:00:00.000Z', '1', '{}')`)
    await database.migrate(all)
    const storage = await openStorage(database.location)
    t.after(() => storage.close())
    await actionsOn(storage).jobs.finish()
    const read = async (columns: string, table: string) =>
      (await database.query(`select ${columns} from ${table} order by 1, 2`)).map((row) =>
        Object.values(Object(row)).map(Number),
      )
    assert.deepEqual(await read('id, account_id', 'domains'), [[1, 1]])
    assert.deepEqual(await read('id, account_id', 'links'), [[1, 1]])
    assert.deepEqual(await read('link_id, clicks', 'link_clicks'), [[1, 1]])
    assert.deepEqual(await read('id, scope', 'click_removals'), [
      [2, clickLevels.link],
      [2, clickLevels.domain],
      [3, clickLevels.link],
    ])
    assert.deepEqual(await read('record_id, account_id', 'events where changes is null'), [[3, 1]])
    const tables = (await database.tables()).map((row) => String(Object.values(Object(row))[0]))
    for (const name of tables) assert.doesNotMatch(name, /deleted_links|deleted_domains|link_edits/)
  })
}

for (const open of [onSqlite, onPostgres]) {
  test(`adds up the hours of stored days: ${open.name}`, async (t) => {
    const database = await open(t)
    const all = buildMigrations(database.location.engine)
    await database.migrate(Object.fromEntries(Object.entries(all).filter(([name]) => name < '0006-click-totals')))
    await database.query(`insert into click_days (scope, day, id, domain_id, hours, breakdowns) values
      (0, 20000, 7, 3, '{"-5.75":[3,2],"10":[4,1,5],"11":[0,0,1,2]}', '[{"DE":7}]'), (3, 20000, 1, null, '{}', '[]')`)
    await database.migrate(all)
    const columns = 'scope, id, domain_id, clicks, unique_clicks, bots, previews, breakdowns'
    const rows = await database.query(`select ${columns} from click_days order by scope`)
    assert.deepEqual(
      rows.map((row) => Object.values(Object(row)).map((value) => JSON.stringify(value).replaceAll(/[\\"]/g, ''))),
      [
        ['0', '7', '3', '7', '3', '6', '2', '[{DE:7}]'],
        ['3', '1', 'null', '0', '0', '0', '0', '[]'],
      ],
    )
  })
}

for (const open of [onSqlite, onPostgres]) {
  test(`keeps keys and their sessions, and ends those of links, which were nobody’s: ${open.name}`, async (t) => {
    const database = await open(t)
    const { location } = database
    const all = buildMigrations(location.engine)
    await database.migrate(Object.fromEntries(Object.entries(all).filter(([name]) => name < '0007-people')))
    const bytes = (hash: Buffer) =>
      location.engine === 'sqlite' ? `x'${hash.toString('hex')}'` : `'\\x${hash.toString('hex')}'`
    const [key, byKey, byLink, link] = [
      generateKey(),
      generateToken('session'),
      generateToken('session'),
      generateToken('login'),
    ] as const
    const [past, future] = ['2026-01-01T00:00:00.000Z', '2126-01-01T00:00:00.000Z']
    await database.query(`insert into accounts (id, name, created_at) values (1, 'Acme', '${past}')`)
    await database.query(`insert into keys (id, account_id, name, created_by, hash, first_characters, last_characters,
      scopes, created_at) values (1, 1, 'CI', 'Ana', ${bytes(hashKey(key))}, 'wm_', 'x', '*', '${past}')`)
    await database.query(`insert into sessions (account_id, key_id, hash, name, browser, created_at, last_used_at,
      expires_at) values (1, 1, ${bytes(hashToken(byKey))}, null, 'Firefox', '${past}', '${future}', '${future}'),
      (1, null, ${bytes(hashToken(byLink))}, 'Ana', 'Firefox', '${past}', '${future}', '${future}')`)
    await database.query(`insert into login_tokens (hash, account_id, name, created_at, expires_at)
      values (${bytes(hashToken(link))}, 1, 'Ben', '${past}', '${future}')`)
    await database.migrate(all)
    const storage = await openStorage(location)
    t.after(() => storage.close())
    const session = await findSession(storage, byKey)
    assert.deepEqual([session?.method, session?.key, session?.member], ['key', { id: 1, name: 'CI' }, null])
    assert.equal(session?.account.canKeysSignIn, true)
    assert.equal(await findSession(storage, byLink), undefined)
    assert.equal(await signInByToken(storage, link, 'Firefox'), undefined)
    const stored = await findKeyByHash(storage, hashKey(key))
    assert.deepEqual([stored?.created_by, stored?.member_id, stored?.revoked_at], ['Ana', null, null])
    const [{ challenge_key } = {}] = await storage.execute(query.selectFrom('instance').select('challenge_key'))
    assert.equal(challenge_key?.length, 32)
    const DATABASE_URL = location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url
    const url = await commandsWith({ DATABASE_URL }).run('login-link')
    const secret = await signInByToken(storage, url.stdout.trim().replace(/^.*#/, ''), 'Firefox')
    const owner = (await findSession(storage, String(secret)))?.member
    assert.deepEqual([owner?.name, owner?.role], ['Owner', 'owner'])
  })
}

/** Links as 0010 to 0013 stored them: [id, domain, alias, key, exact, legacy, clicks]. */
const mainAddresses = [
  [1, 1, 'Sale', 'sale', 0, 0, 10],
  [2, 1, 'SALE', 'sale\u0001SALE', 1, 0, 4],
  [3, 1, '~old', '~old', 0, 1, 0],
  // A day with clicks at its further address was deleted.
  [4, 2, 'Spring', 'spring', 0, 0, 1],
  [5, 2, 'deleted', 'deleted', 0, 0, 0],
] as const

/** Further addresses with ids from 1: [link, domain, alias, key, exact, legacy, clicks]. */
const furtherAddresses = [
  [1, 1, 'Offer', 'offer', 0, 0, 3],
  [4, 1, 'spring', 'spring\u0001spring', 1, 0, 5],
  [1, 2, '~ALT', '~alt', 0, 1, 2],
  [3, 2, 'Gone', 'gone', 0, 0, 6],
] as const

async function storeAddresses({ query }: EmptyDatabase): Promise<void> {
  const quoted = (values: readonly unknown[]) => values.map((value) => `'${value}'`).join(', ')
  await query(`insert into accounts (id, name, created_at) values (1, 'Acme', '')`)
  await query(`insert into domains (account_id, name, name_unicode, created_at, updated_at)
    values (1, 'go.example', 'go.example', '', ''), (1, 'acme.example', 'acme.example', '', '')`)
  for (const [id, ...address] of mainAddresses) {
    await query(`insert into links (account_id, url, disabled, forward_query, redirect_status, status, created_at,
      updated_at, domain_id, alias, alias_folded, exact, legacy)
      values (1, 'https://acme.com/', 0, 0, 302, 'active', '2026-01-0${id}', '', ${quoted(address.slice(0, -1))})`)
    await query(`update link_clicks set clicks = ${address.at(-1)} where link_id = ${id}`)
  }
  await query('delete from links where id = 5')
  await query(`insert into tags (account_id, name, name_folded, color, created_at, updated_at)
    values (1, 'Summer', 'summer', 1, '', '')`)
  await query('insert into link_tags (account_id, tag_id, link_id) values (1, 1, 2)')
  const columns = 'link_id, domain_id, alias, alias_folded, exact, legacy, clicks'
  for (const address of furtherAddresses) {
    await query(
      `insert into link_addresses (account_id, created_at, ${columns}) values (1, '2026-02', ${quoted(address)})`,
    )
  }
  const gone = { id: 4, domain_id: 2, alias: 'Gone', exact: false, legacy: false, clicks: 6 }
  await query('delete from link_addresses where id = 4')
  await query(`insert into events (account_id, batch_id, record, action, record_id, created_at, actor_kind, actor_name,
    record_name, changes) values (1, 'b', 'link', 'updated', 3, '${new Date().toISOString()}', 'system', 'Waymark',
    'go.example/~old', '${JSON.stringify({ addresses: [[gone], null] })}')`)
}

for (const open of [onSqlite, onPostgres]) {
  for (const last of ['0011-imports', '0013-import-warnings']) {
    test(`makes each address a row, from ${last}, or changes nothing: ${open.name}`, async (t) => {
      const database = await open(t)
      const all = buildMigrations(database.location.engine)
      const read = async (columns: string, rest: string) =>
        (await database.query(`select ${columns} from ${rest}`)).map((row) =>
          Object.values(Object(row)).map((value) => (/^\d+$/.test(String(value)) ? Number(value) : value)),
        )
      await database.migrate(Object.fromEntries(Object.entries(all).filter(([name]) => name <= last)))
      await storeAddresses(database)
      const content = async () => [await database.tables(), await read('*', 'link_addresses order by id')]
      const before = await content()
      const broken = (all['0014-address-rows'] ?? []).toSpliced(-1, 0, 'insert into nowhere values (1)')
      await assert.rejects(database.migrate({ ...all, '0014-address-rows': broken }), isStartupFailure(/nowhere/))
      assert.deepEqual(await content(), before)

      await database.migrate(all)
      const columns = 'id, link_id, domain_id, alias, alias_folded, exact, legacy, main, clicks, created_at, account_id'
      assert.deepEqual(await read(columns, 'addresses order by id'), [
        [1, 1, 1, 'Offer', 'offer', 0, 0, 0, 3, '2026-02', 1],
        [2, 4, 1, 'spring', 'spring', 1, 0, 0, 5, '2026-02', 1],
        [3, 1, 2, '~ALT', '~alt', 0, 1, 0, 2, '2026-02', 1],
        [5, 1, 1, 'Sale', 'sale', 0, 0, 1, 5, '2026-01-01', 1],
        [6, 2, 1, 'SALE', 'sale', 1, 0, 1, 4, '2026-01-02', 1],
        [7, 3, 1, '~old', '~old', 0, 1, 1, 0, '2026-01-03', 1],
        [8, 4, 2, 'Spring', 'spring', 0, 0, 1, 0, '2026-01-04', 1],
      ])
      const storage = await openStorage(database.location)
      t.after(() => storage.close())
      const visit = async (domain: number, alias: string) => {
        const { link, ignoresCase } = await findServedLink(storage, domain, alias)
        return [link?.id, link?.addressId, ignoresCase]
      }
      assert.deepEqual(await visit(1, 'sale'), [1, 5, false])
      assert.deepEqual(await visit(1, 'SALE'), [2, 6, false])
      assert.deepEqual(await visit(1, 'offer'), [1, 1, true])
      assert.deepEqual(await visit(1, 'Spring'), [undefined, undefined, false])
      assert.deepEqual(await visit(2, 'gone'), [undefined, undefined, true])

      const { position } = await storage.changesAfter(null)
      const { actions, reversals } = actionsOn(storage)
      const addresses = new AddressActions(storage, actions.links)
      const actor = systemActor(1)
      await reversals.undoEvent(actor, 1)
      assert.deepEqual(await read('id, link_id, clicks, main', `addresses where alias = 'Gone'`), [[4, 3, 6, 0]])
      assert.deepEqual(await visit(2, 'gone'), [3, 4, true])
      const store = addresses.insertion(actor, 2, { alias: 'SPRING', exact: true, domain_id: 2 })
      assert.equal((await store(storage)).id, 9)
      await assert.rejects(addresses.insertion(actor, 1, { alias: 'sPring', domain_id: 2 })(storage), {
        code: 'alias_taken',
      })
      assert.deepEqual(await read('tag_id, link_id', 'link_tags'), [[1, 2]])
      const another = await actions.links.insertion(actor, { url: 'https://acme.com/' })
      assert.equal((await another(storage)).record.id, 6)
      await addresses.remove(actor, 1, 1)
      // Visitors find the new exact address before that of the fourth link.
      const { changes } = await storage.changesAfter(position)
      assert(changes !== 'unknown')
      assert.deepEqual(changes.map(({ id }) => id).sort(), [1, 2, 3, 4])
    })
  }
}
